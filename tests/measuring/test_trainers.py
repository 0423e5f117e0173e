"""Monitors of training steps, in real trainings of small models on a processor."""

from __future__ import annotations

import subprocess
import sys
import warnings
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import perfc

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

from perfc.measuring.training import ExpectedStep, StepMonitor, expected_step
from perfc.measuring.training.monitor import CalledInputs, TrainerStepMonitor, memory_in_use

CPU = "generic-x86-64"
BATCH = 32
MAC = BATCH * (3 * 256 * 10 + 2 * 64 * 256)
"""Multiply-accumulates of a step of `a_net`: the first layer has no gradient of its input."""


def a_net() -> Any:
    nn = torch.nn
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))


def check(rows: list[dict[str, float]], flop: float) -> None:
    """Check that every row has all metrics, and that they agree with one another."""
    assert rows
    for row in rows:
        step_s, used = row["perfc/step_s"], row["perfc/memory_bytes"]
        assert 1e-6 < step_s < 60
        assert row["perfc/mfu"] == pytest.approx(flop / step_s / 1.024e12, rel=1e-4)
        assert row["perfc/step_ratio"] == pytest.approx(step_s / row["perfc/predicted_step_s"])
        predicted = row["perfc/predicted_memory_bytes"]
        assert row["perfc/memory_ratio"] == pytest.approx(used / predicted, rel=1e-4)
        assert 50e6 < used < 64e9


def test_plain_loop_has_metrics_of_the_measured_steps() -> None:
    net, x, y = a_net(), torch.randn(BATCH, 64), torch.randint(0, 10, (BATCH,))
    want = expected_step(net, CPU, inputs=(x,), train="sgd")
    assert want.flop == 2 * MAC
    assert want.low_s <= want.step_s <= want.high_s
    assert want.memory_bytes >= 2 * 4 * sum(p.numel() for p in net.parameters())
    monitor, optimizer, rows = StepMonitor(want, every=4), torch.optim.SGD(net.parameters()), []
    for _ in range(9):
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
        optimizer.zero_grad()
        rows.append(monitor.end_step())
    assert [bool(row) for row in rows] == [False] * 4 + [True] + [False] * 3 + [True]
    check([row for row in rows if row], 2 * MAC)


def test_accumulation_multiplies_the_work_and_checkpointing_does_not() -> None:
    x = torch.randn(BATCH, 64)
    assert expected_step(a_net(), CPU, inputs=(x,), accumulate=3).flop == 3 * 2 * MAC
    recomputed = expected_step(a_net(), CPU, inputs=(x,), checkpointing="block")
    assert recomputed.flop == 2 * MAC


def test_time_and_memory_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([10.0, 11.0, 11.0, 14.0, 14.0])
    monkeypatch.setattr("perfc.measuring.training.monitor.time.perf_counter", lambda: next(clock))
    monkeypatch.setattr("perfc.measuring.training.monitor.memory_in_use", lambda: 3000)
    monitor = StepMonitor(ExpectedStep("one", 5e11, 1e12, 0.25, 0.2, 0.3, 2000), every=2)
    assert [monitor.end_step(), monitor.end_step()] == [{}, {}]
    assert monitor.end_step() == {
        "perfc/step_s": 0.5,
        "perfc/memory_bytes": 3000.0,
        "perfc/mfu": 1.0,
        "perfc/predicted_step_s": 0.25,
        "perfc/step_ratio": 2.0,
        "perfc/predicted_memory_bytes": 2000.0,
        "perfc/memory_ratio": 1.5,
    }
    assert StepMonitor().metrics() == {}


def test_memory_is_that_of_the_process() -> None:
    before = memory_in_use()
    block = bytearray(300_000_000)
    block[::4096] = b"x" * len(block[::4096])
    assert memory_in_use() >= before
    assert memory_in_use() >= 300_000_000


def test_calls_of_several_children_are_an_error() -> None:
    class Two(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    module = Two()
    calls = CalledInputs(module)
    module.b(module.a(torch.randn(2, 4)))
    with pytest.raises(Exception, match="no module is called once in a training step"):
        calls.close(1)
    calls = CalledInputs(module)
    module.a(torch.randn(2, 4))
    assert calls.close(1)[0] is module.a


def test_trainer_of_transformers_logs_every_metric(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    from perfc.measuring.training.huggingface import TrainerMonitor

    config = transformers.BertConfig(
        vocab_size=100,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=32,
        num_labels=3,
    )
    model = transformers.BertForSequenceClassification(config)
    row = {"input_ids": [7] * 16, "attention_mask": [1] * 16, "labels": 1}
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=6,
        per_device_train_batch_size=4,
        logging_steps=2,
        gradient_accumulation_steps=2,
        report_to=[],
        use_cpu=True,
        save_strategy="no",
        disable_tqdm=True,
    )
    seen: list[dict[str, float]] = []

    class Reporter(transformers.TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            seen.append(dict(logs))

    trainer = transformers.Trainer(
        model=model, args=arguments, train_dataset=[row] * 64, callbacks=[Reporter()]
    )
    monitor = TrainerMonitor.add_to(trainer, CPU)
    trainer.train()
    want = monitor.monitor.expected
    assert want is not None
    products = 4 * 32 * 32 + 2 * 32 * 64 + 2 * 16 * 32
    assert want.flop == pytest.approx(2 * 2 * 3 * 4 * 16 * products, rel=0.1)
    rows = [r for r in seen if "loss" in r]
    assert len(rows) == 3
    check(rows, want.flop)
    assert [h["perfc/mfu"] for h in trainer.state.log_history if "loss" in h] == [
        r["perfc/mfu"] for r in rows
    ]


def test_lightning_logs_every_metric(tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning.pytorch")
    from lightning.pytorch.loggers import CSVLogger

    from perfc.measuring.training.lightning import LightningMonitor

    class Lit(lightning.LightningModule):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.net = a_net()

        def training_step(self, batch: Any, index: int) -> Any:
            return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

        def validation_step(self, batch: Any, index: int) -> None:
            self.net(batch[0])

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters())

    data = torch.utils.data.TensorDataset(torch.randn(256, 64), torch.randint(0, 10, (256,)))
    monitor = LightningMonitor(CPU)
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_steps=7,
        log_every_n_steps=2,
        callbacks=[monitor],
        val_check_interval=1,
        limit_val_batches=1,
        num_sanity_val_steps=0,
        logger=CSVLogger(str(tmp_path)),
        enable_progress_bar=False,
        enable_checkpointing=False,
        enable_model_summary=False,
    )
    loader = torch.utils.data.DataLoader(data, batch_size=BATCH)
    trainer.fit(Lit(), loader, loader)
    assert monitor.monitor.expected is not None
    assert monitor.monitor.expected.flop == 2 * MAC
    logged = {k: float(v) for k, v in trainer.logged_metrics.items()}
    check([logged], 2 * MAC)
    assert "perfc/mfu" in next(tmp_path.rglob("metrics.csv")).read_text()


def test_a_step_that_cannot_be_predicted_is_a_warning() -> None:
    net, monitor = a_net(), TrainerStepMonitor("No GPU", None, {})
    monitor.start(net)
    net(torch.randn(2, 64))
    optimizer = torch.optim.SGD(net.parameters())
    with pytest.warns(UserWarning, match=r"perfc predicts no step: no such target 'No GPU'"):
        monitor.predict(1, optimizer, "")
    assert monitor.expected is None
    monitor.count_step()
    monitor.count_step()
    assert set(monitor.metrics()) == {"perfc/step_s", "perfc/memory_bytes"}
    # the time between two trainings is not that of a step
    monitor.start(net)
    monitor.count_step()
    assert monitor.metrics() == {}


def test_import_loads_no_framework() -> None:
    probe = "print('torch' in sys.modules, 'numpy' in sys.modules)"
    code = f"import sys, perfc.measuring.training; {probe}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.parametrize(("factor", "warned"), [(1.0, 0), (1e3, 1), (1e-9, 1)])
def test_a_watched_module_warns_if_its_calls_leave_the_interval(
    monkeypatch: pytest.MonkeyPatch, factor: float, warned: int
) -> None:
    net, x = a_net().eval(), torch.randn(BATCH, 64)
    tick_s = perfc.analyze(net, CPU, inputs=(x,)).time_s * factor
    clock = SimpleNamespace(perf_counter=count(0.0, tick_s).__next__)
    monkeypatch.setattr("perfc.measuring.watching.time", clock)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        with perfc.watch(net, CPU) as times:
            for _ in range(3):
                net(x)
    words = [str(one.message) for one in said if "measured" in str(one.message)]
    assert len(words) == warned
    assert times == pytest.approx([tick_s] * 3)
    net(x)
    assert len(times) == 3


def test_what_is_no_module_is_not_watched() -> None:
    with pytest.raises(perfc.PerfcError, match="str is no torch"), perfc.watch("m.onnx"):  # type: ignore[arg-type]
        pass
