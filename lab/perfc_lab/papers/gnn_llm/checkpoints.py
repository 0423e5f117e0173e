"""Read and write the folder of the training stages: card, standards of features, weights.

Stage 0 is a small decoder, stage 1 the encoder of graphs, stage 2 the adapted language model. Stage
3, which learns measured rows, is a predictor with weights elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import Any

from torch import Tensor

from perfc.analyzers.graph.store import write_file
from perfc.errors import PerfcError
from perfc.ir.record import record

from ..networks.batches import Standard
from ..networks.tensors import read_tensors, write_tensors
from ..networks.train import device
from .alignment import SummaryFigure
from .counts import SUMS
from .language_model import CausalLanguageModel, load_language_model
from .presets import StagePreset, preset
from .projection import Readout

# files of a folder of stages
CARD = "stages.json"
DECODER, ENCODER, STANDARDS = "decoder", "encoder.safetensors", "standards.safetensors"
MAX_CARD_BYTES = 1 << 16
"""Maximum size of a card or a file of summaries that is read: both have a few short fields."""
MOST_PATH = 4096
"""Maximum characters of a path in a card, that of Linux (PATH_MAX)."""
# command that error messages suggest
TRAIN = "perfc train gnn-llm --graphs GRAPHS -o {folder} --stage {stage}"


@record
class CheckpointCard:
    """Settings that the stages of a folder have in common.

    Args:
        preset: name of one of `PRESETS`.
        language_model: folder of the language model; "" for the small decoder of stage 0.
        seed: random seed of all stages.
        nodes: digest of the schema of operators' features.
        sums: digest of the schema of sums over a graph.
    """

    preset: str
    language_model: str
    seed: int
    nodes: str
    sums: str


class Stages:
    """A folder with the checkpoints of stages.

    Args:
        folder: folder of the card.
        card: settings in it.
    """

    def __init__(self, folder: Path, card: CheckpointCard) -> None:
        self.folder, self.card = folder, card

    @classmethod
    def open(cls, folder: Path) -> Stages:
        """Return the stages of a folder.

        Raises:
            PerfcError: the folder has no card, a damaged one, or one of other features.
        """
        path = folder / CARD
        hint = TRAIN.format(folder=folder, stage="0 --stage 1 --stage 2")
        try:
            if path.stat().st_size > MAX_CARD_BYTES:
                raise ValueError(f"cards end at {MAX_CARD_BYTES} bytes")
            content = json.loads(path.read_text(encoding="utf-8"))
            card = CheckpointCard(
                str(content["preset"]),
                str(content["language_model"])[:MOST_PATH],
                int(content["seed"]),
                str(content["nodes"]),
                str(content["sums"]),
            )
        except FileNotFoundError:
            raise PerfcError("no stages", where=os.fspath(folder), hint=hint) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise PerfcError(f"no card of stages: {error}", where=os.fspath(path)) from None
        from .features import NODES

        if (card.nodes, card.sums) != (NODES.digest, SUMS.digest):
            raise PerfcError("stages of other features", where=os.fspath(folder), hint=hint)
        return cls(folder, card)

    @classmethod
    def start(
        cls, folder: Path, preset_name: str, language_model: Path | None, seed: int
    ) -> Stages:
        """Return a folder to train in; an existing one must have the same settings.

        Raises:
            PerfcError: it holds stages of other settings.
        """
        from .features import NODES

        preset(preset_name)  # raises for an unknown name, before a file is written
        model = "" if language_model is None else os.fspath(language_model.resolve())
        card = CheckpointCard(preset_name, model, seed, NODES.digest, SUMS.digest)
        if (folder / CARD).is_file():
            existing = cls.open(folder)
            if existing.card != card:
                raise PerfcError(
                    "the folder holds stages of another preset, seed or language model",
                    where=os.fspath(folder),
                    hint="name another folder",
                )
            return existing
        write_file(folder / CARD, (json.dumps(asdict(card), indent=2) + "\n").encode())
        return cls(folder, card)

    @property
    def preset(self) -> StagePreset:
        """Return the preset of the card: sizes of networks and lengths of trainings."""
        return preset(self.card.preset)

    @property
    def moves_every_weight(self) -> bool:
        """Return True if stage 2 trains all weights of the small decoder, not an adaptation."""
        return self.preset.has_whole_decoder and not self.card.language_model

    @property
    def width(self) -> int:
        """Return the hidden units of the encoder."""
        from .features import HIDDEN

        return max(round(HIDDEN * self.preset.scale), 1)

    @cached_property
    def read_as(self) -> str:
        """Return the digest of the standards, which stored encodings of graphs depend on."""
        return hashlib.sha256((self.folder / STANDARDS).read_bytes()).hexdigest()[:16]

    def settings(self) -> str:
        """Return the digest of the card and its preset; stages trained again have the same."""
        text = json.dumps([asdict(self.card), asdict(self.preset)])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def digest(self, readout: Readout = Readout.NUMBERS) -> str:
        """Return the digest of the card, the small decoder, stage 1, and stage 2 with a readout.

        Weights of stage 3 are valid for one digest, as they begin from these files.
        """
        digest = hashlib.sha256(json.dumps(asdict(self.card)).encode())
        files = (STANDARDS, ENCODER, adapted_file(readout), f"{DECODER}/model.safetensors")
        for path in (self.folder / name for name in files):
            # the digest also exists if a stage was not trained
            digest.update(path.read_bytes() if path.is_file() else b"none")
        return digest.hexdigest()[:16]

    def language_model(self) -> CausalLanguageModel:
        """Return the language model as it is before stage 2.

        Raises:
            MissingExtraError: transformers or peft is not installed.
            PerfcError: there is no language model in its folder.
        """
        given = self.card.language_model
        folder = Path(given) if given else self.folder / DECODER
        if not given and not (folder / "config.json").is_file():
            raise PerfcError("no decoder", where=os.fspath(folder), hint=self.how("0"))
        return load_language_model(folder)

    def how(self, stage: str) -> str:
        """Return the command that trains a stage."""
        return TRAIN.format(folder=self.folder, stage=stage)

    def need(self, name: str, stage: str) -> None:
        """Raise an error unless the file of a stage exists.

        Raises:
            PerfcError: the stage was not trained.
        """
        if not (self.folder / name).is_file():
            raise PerfcError(
                f"stage {stage} is not there", where=os.fspath(self.folder), hint=self.how(stage)
            )

    def tensors(self, name: str, stage: str) -> dict[str, Tensor]:
        """Return the weights of a file of the folder.

        Raises:
            PerfcError: the stage was not trained.
        """
        self.need(name, stage)
        place = device()
        return {n: t.to(place) for n, t in read_tensors(self.folder / name).items()}

    def encoder(self) -> dict[str, Tensor]:
        """Return the weights of stage 1."""
        return self.tensors(ENCODER, "1")

    def adapted(self, readout: Readout) -> dict[str, Tensor]:
        """Return the weights of stage 2 with a readout."""
        return self.tensors(adapted_file(readout), f"2 --readout {readout.value}")

    def keep(self, name: str, tensors: dict[str, Tensor]) -> None:
        """Write the weights of a stage."""
        write_tensors(self.folder / name, tensors)

    def standards(self) -> tuple[Standard, Standard]:
        """Return the standards of operators' features and of sums."""
        tensors = read_tensors(self.folder / STANDARDS)
        return tuple(  # type: ignore[return-value]
            Standard(tensors[f"{n}.mean"], tensors[f"{n}.deviation"]) for n in ("nodes", "sums")
        )

    def keep_standards(self, nodes: Standard, sums: Standard) -> None:
        """Write the standards of operators' features and of sums."""
        named = {"nodes": nodes, "sums": sums}
        self.keep(
            STANDARDS,
            {
                f"{n}.{part}": getattr(s, part)
                for n, s in named.items()
                for part in ("mean", "deviation")
            },
        )

    def keep_summaries(
        self, name: str, figures: dict[str, SummaryFigure], answers: list[str]
    ) -> None:
        """Write the scores of summaries by set of graphs, with three examples as ``examples``."""
        content: dict[str, Any] = {n: asdict(f) for n, f in figures.items()}
        content["examples"] = answers[:3]
        write_file(self.folder / name, (json.dumps(content, indent=2) + "\n").encode())

    def summaries(self, readout: Readout) -> dict[str, Any]:
        """Return the content of the file of `keep_summaries`; empty without the file."""
        path = self.folder / summaries_file(readout)
        if not path.is_file() or path.stat().st_size > MAX_CARD_BYTES:
            return {}
        content = json.loads(path.read_text(encoding="utf-8"))
        return content if isinstance(content, dict) else {}


def adapted_file(readout: Readout) -> str:
    """Return the name of the file of stage 2's weights."""
    return f"adapted-{readout.value}.safetensors"


def summaries_file(readout: Readout) -> str:
    """Return the name of the file of stage 2's summaries."""
    return f"summaries-{readout.value}.json"
