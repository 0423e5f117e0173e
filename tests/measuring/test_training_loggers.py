"""Metrics of training steps in the logs of TensorBoard, MLflow and W&B, by real small trainings."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnxscript")

CPU = "generic-x86-64"
METRICS = (
    "perfc/mfu",
    "perfc/step_s",
    "perfc/step_ratio",
    "perfc/memory_bytes",
    "perfc/memory_ratio",
)


def tensorboard_values(folder: Path) -> dict[str, float]:
    """Return the last value of each metric in the event files of a folder."""
    module = import_module("tensorboard.backend.event_processing.event_accumulator")
    values: dict[str, float] = {}
    for file in folder.rglob("events.out.tfevents.*"):
        events = module.EventAccumulator(str(file)).Reload()
        values |= {tag: events.Scalars(tag)[-1].value for tag in events.Tags()["scalars"]}
    return values


def mlflow_values(folder: Path) -> dict[str, float]:
    """Return the last value of each metric of the only run of a file store."""
    client = import_module("mlflow").MlflowClient((folder / "store").as_uri())
    experiments = [e.experiment_id for e in client.search_experiments()]
    (run,) = client.search_runs(experiments)
    return dict(run.data.metrics)


def wandb_values(folder: Path) -> dict[str, float]:
    """Return the last value of each metric of the current offline run, and end it."""
    wandb = import_module("wandb")
    run = wandb.run
    values = dict(run.summary)
    run.finish()
    wandb.teardown()  # the next run reads its settings again
    assert [*folder.rglob("offline-run-*/run-*.wandb")]
    return values


READERS: dict[str, Callable[[Path], dict[str, float]]] = {
    "tensorboard": tensorboard_values,
    "mlflow": mlflow_values,
    "wandb": wandb_values,
}


@pytest.fixture(params=list(READERS))
def backend(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a logger that is installed and writes to `tmp_path` only."""
    name = str(request.param)
    pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    for variable, value in (
        ("WANDB_MODE", "offline"),
        ("WANDB_DIR", str(tmp_path)),
        ("WANDB_SILENT", "true"),
        ("MLFLOW_TRACKING_URI", (tmp_path / "store").as_uri()),
        ("MLFLOW_ALLOW_FILE_STORE", "true"),
        ("TENSORBOARD_LOGGING_DIR", str(tmp_path)),
    ):
        monkeypatch.setenv(variable, value)
    if name == "mlflow":
        import_module("mlflow").set_tracking_uri((tmp_path / "store").as_uri())
    return name


def check(values: dict[str, float]) -> None:
    """Check that all metrics were logged with plausible values."""
    assert [name for name in METRICS if name not in values] == []
    assert 0 < values["perfc/mfu"] < 1
    assert 1e-6 < values["perfc/step_s"] < 60
    assert values["perfc/memory_bytes"] > 50e6


def test_loggers_of_lightning_have_the_metrics(backend: str, tmp_path: Path) -> None:
    lightning = pytest.importorskip("lightning.pytorch")
    from lightning.pytorch import loggers

    from perfc.measuring.training.lightning import LightningMonitor

    made = {
        "tensorboard": lambda: loggers.TensorBoardLogger(str(tmp_path)),
        "mlflow": lambda: loggers.MLFlowLogger(tracking_uri=(tmp_path / "store").as_uri()),
        "wandb": lambda: loggers.WandbLogger(save_dir=str(tmp_path), offline=True),
    }

    class Lit(lightning.LightningModule):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Linear(256, 10))

        def training_step(self, batch: Any, index: int) -> Any:
            return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters())

    data = torch.utils.data.TensorDataset(torch.randn(256, 64), torch.randint(0, 10, (256,)))
    lightning.Trainer(
        accelerator="cpu",
        max_steps=6,
        log_every_n_steps=2,
        callbacks=[LightningMonitor(CPU)],
        logger=made[backend](),
        enable_progress_bar=False,
        enable_checkpointing=False,
        enable_model_summary=False,
    ).fit(Lit(), torch.utils.data.DataLoader(data, batch_size=32))
    check(READERS[backend](tmp_path))


def test_loggers_of_transformers_have_the_metrics(backend: str, tmp_path: Path) -> None:
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
    row = {"input_ids": [7] * 16, "attention_mask": [1] * 16, "labels": 1}
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path / "model"),
        max_steps=6,
        per_device_train_batch_size=4,
        logging_steps=2,
        report_to=[backend],
        use_cpu=True,
        save_strategy="no",
        disable_tqdm=True,
        logging_dir=str(tmp_path),
    )
    model = transformers.BertForSequenceClassification(config)
    trainer = transformers.Trainer(model=model, args=arguments, train_dataset=[row] * 64)
    TrainerMonitor.add_to(trainer, CPU)
    trainer.train()
    values = READERS[backend](tmp_path)
    # transformers puts "train/" before the names for two of the loggers
    check({name.removeprefix("train/"): value for name, value in values.items()})
