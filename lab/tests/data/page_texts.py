"""Published pages of runs, cut to what their readers need."""

from __future__ import annotations

BERT = """# BERT Inference Using TensorRT
Tested with TensorRT 10.11.
#### Inference performance: NVIDIA T4 (16GB)
##### BERT Base

| Sequence Length | Batch Size | INT8 Latency (ms) | | | FP16 Latency (ms) | | |
|---|---|---|---|---|---|---|---|
| | | 95th Percentile | 99th Percentile | Average | 95th Percentile | 99th Percentile | Average |
| 128 | 4 | 2.75 | 2.8 | 2.5 | 4.5 | 4.75 | 4.25 |

##### Megatron Large with Sparsity

| Sequence Length | Batch Size | INT8 QAT Latency (ms) | | |
|---|---|---|---|---|
| | | 95th Percentile | 99th Percentile | Average |
| 384 | 1 | 1.5 | 1.75 | 1.25 |
"""


PADDLE = """## 1.3 Benchmark
#### 1.3.1 On V100 GPU

| Models | Top1 | Latency(ms) |
|:--:|:--:|:--:|
| DLA34 | 0.5 | 9.5 |

| Models | Size | Latency(ms)<br>bs=1 | Latency(ms)<br/>bs=4 |
|:--:|:--:|:--:|:--:|:--:|
| DLA34 | 224 | 1.5 | - |
| ViT_base_<br/>patch16_384 | 384 | 9.25 | 20.5

| Models | Crop Size | Resize Short Size | FP32<br/>Batch Size=1<br/>(ms) |
|:--:|:--:|:--:|:--:|
| SwinTransformer_large_patch4_window7_224<sup>[1]</sup> | 224 | 256 | 3.5 | 4.5 |
| VGG11 | 224 |

TensorRT-8.0.3.4
#### 1.3.2 On T4 GPU

| Models | Latency(ms)<br>FP16<br>bs=1 |
|:--:|:--:|
PPLCNet_x0_5 | 0.75 |
| DarkNet53 | 2.5 |
"""


GUIDE = """### Swin Performance on T4
#### Swin-V2 FP16
| Batch_size | torch.jit.trace | cpp | speedup |
| :---: | :---: | :---: | :---: |
| 8 | 12.5 | 4.5 | 2.5 |

#### INT8 vs. FP16 speedup of Swin-V2:
| Model | window_size | input_size | FP16 | INT8 | Speedup |
| :---: | :---: | :---: | :---: | :---: | :---: |
| SMALL | 16 | 256 | 7.5 | - | - |
"""


ZOO = """### Models
| Model | Resolution | Latency (HW)*<sub>T4</sub> | Latency <sub>Cascade Lake</sub> |
|---|---|---|:---:|
| ResNet 50 | 224x224 | **1.5ms** | **2.5 ms** * |
| STDC | 512x1024 | **3.25(FP16)** **2.25(INT8)** |
"""


JETSON = """| Name | Data Type | Input Shapes | Throughput (PyTorch) | Latency (PyTorch) |
|---|---|---|---|---|
| Name | Data Type | Input Shapes | Throughput (PyTorch) | Latency (PyTorch) |
|---|---|---|---|---|
| torchvision.models.mnasnet.mnasnet0_5 | float16 | [(2, 3, 224, 224)] | 40 | 25.5 |
| torchvision.models.resnet.resnet50 | float32 | [(1, 3, 224, 224)] | 0.8 | 1.25e+03 |
"""


LISTED = """## Classifiers
| Model Name | Acc | GPU Inference Time (ms) | CPU Inference Time (ms) |
|-|-|-|-|
|SwinTransformer_large_patch4_window12_384|8|9.5|-|
|Sorter|8|9.5|-|
|RT-DETR-R50|8|7.5|17.5|
"""


CLASSIFIER = """Times of the pytorch-21.03 container.
##### Inference performance: NVIDIA DGX-1 (1x V100 16GB)
###### Mixed Precision Inference Latency
| **Batch Size** | **Throughput Avg** | **Latency Avg** | **Latency 95%** |
|:---:|:---:|:---:|:---:|
| 8 | 709 img/s | 11.5 ms | 12.25 ms |
"""


TRITON = """#### Offline: NVIDIA T4, ONNX Runtime with FP16, Backend accelerator TensorRT
| Batch | Concurrency | Server Queue (ms) | Server Compute Infer (ms) | Server Compute Output (ms) |
|---:|---:|---:|---:|---:|
| 8 | 1 | 0.1 | 12.5 | 36.25 |
| 8 | 2 | 0.1 | 25.5 | 36.25 |
"""


LEAD = """##### Inference performance: NVIDIA DGX A100 (1x A100 40GB)

**FP16, pure Python**

|**Batch size**|**Sequence length**|**Latency Avg (ms)**|
|---:|---:|---:|
| 2 | 64 | 10.5 |

**TF32, TorchScript**

|**Batch size**|**Sequence length**|**Latency Avg (ms)**|
|---:|---:|---:|
| 2 | 64 | 7.5 |
"""


RATES = """Timed with TensorRT 8.6.0.
| Model | backbone | input shape | V100 FP32(FPS) | T4 TensorRT FP16(FPS) | config |
|:---:|:---:|:---:|:---:|:---:|:---:|
| *RT-DETR-R50-m | ResNet-50 | 640 | 80.0 | 160 | [c](c.yml)
"""


ZOO_RF = """TensorRT 10.4
| Architecture | Latency (ms) | Resolution |
|:---:|:---:|:---:|
| RF-DETR-N | 2.5 | 384x384 |
| YOLO11-N | 1.5 | 640x640 |
"""


FPS = """| name | resolution | window | FPS |
|:---:|:---:|:---:|:---:|
| SwinV2-B | 256x256 | 16x16 | 128 |
| SwinV2-B | 256x256 | 16x16 | 128 |
"""


QUANTIZED = """### ResNet50-v1
| Model | Accuracy (%) | Latency (ms, bs=1) |
|---|---|---|
| Baseline (TensorFlow) | 75 | 7.5 |
| **QAT** (TensorRT) | 75 | 0.5 |
"""


DLE = "PyTorch/{}/README.md"


PAGES = {
    "nvidia_dle": {
        DLE.format("Classification/ConvNets/resnet50v1.5"): CLASSIFIER,
        DLE.format("LanguageModeling/BERT/triton/large"): TRITON,
        DLE.format("LanguageModeling/Transformer-XL"): LEAD,
    },
    "paddledetection": {"configs/rtdetr/README.md": RATES},
    "rf_detr": {"docs/learn/benchmarks.md": ZOO_RF},
    "swin": {"README.md": FPS},
    "tensorrt_tfquant": {
        "tools/tensorflow-quantization/docs/source/docs/model_zoo.md": QUANTIZED,
    },
    "tensorrt_bert": {"demo/BERT/README.md": BERT},
    "paddleclas": {"docs/zh_CN/models/ImageNet1k/Mixed.md": PADDLE},
    "fastertransformer": {"docs/swin_guide.md": GUIDE},
    "super_gradients": {"documentation/source/model_zoo.md": ZOO},
    "torch2trt": {"benchmarks/JETSON_NANO.md": JETSON},
    "paddlex": {"docs/support_list/models_list.md": LISTED},
}
