"""Questions that no report can answer, and the commands that can."""

from __future__ import annotations

from enum import Enum

from perfc.ir.record import record


class Door(Enum):
    """Command whose function answers a question that a report cannot."""

    FIT = "perfc fit"
    COMPARE = "perfc compare"
    COST = "perfc cost"


@record
class Elsewhere:
    """A subject that reports do not cover.

    Args:
        phrases: phrases that ask for it.
        reason: why a report does not have it.
        hint: what to do; empty if there is nothing.
        door: command whose function answers it from the report; None if there is none.
        is_of_many: True if the default machines are compared, not only that of the report.
    """

    phrases: tuple[str, ...]
    reason: str
    hint: str = ""
    door: Door | None = None
    is_of_many: bool = False


ELSEWHERE = (
    Elsewhere(
        ("fastest kernel|layer|operator|node|convolution", "cheapest kernel|layer|operator",
         "smallest kernel|layer|operator", "shortest kernel|layer|operator", "least expensive",
         "with the most", "with most", "has|have|use|need|read|write|move|draw the most",
         "most flop|memory|energy|power|mac|parameter|byte|traffic|weight|activation"),
        "a report ranks kernels by time only",
        "perfc analyze MODEL --view kernels --top all",
    ),
    Elsewhere(
        ("first|second|third|fourth|last|next|final layer|kernel|node|operator|block",
         "layer 1|2|3|4|5|6|7|8|9|10|11|12", "block 1|2|3|4|5|6|7|8|9|10|11|12"),
        "a report identifies layers by node name and kernels by number, from 0",
        "ask how long a NODE takes, or what limits kernel 3",
    ),
    Elsewhere(
        (
            "accuracy", "top 1", "top 5 accuracy", "top1", "bleu", "perplexity", "f1",
            "quality", "loss", "precision and recall", "recall", "converge", "convergence",
            "map", "auc", "imagenet", "benchmark score", "model accurate", "network accurate",
            "accurate is the model|network", "how accurate is it", "correct", "hallucinate",
            "error rate", "classification", "predict correctly",
        ),
        "perfc does not evaluate the accuracy of a model",
    ),
    Elsewhere(
        ("training data", "training set", "dataset", "data set", "trained on", "trained with",
         "learn from which data", "corpus"),
        "a model file does not contain its training data",
    ),
    Elsewhere(
        ("price", "cost per", "cost per million", "cost per million image|token|run|sequence",
         "cost for a million image|token|run|sequence", "does a million image|token|run cost",
         "dollar", "in dollar", "$", "cost to run", "cost me", "price per million",
         "how much does it cost", "how much would it cost", "cost", "usd", "per million"),
        "a report has no prices",
        "perfc cost MODEL -t TARGET",
        Door.COST,
    ),
    Elsewhere(
        ("cheapest", "cheapest gpu|machine|device|card", "cheapest gpu to run it on",
         "least expensive gpu|machine|device|card", "cheapest option|hardware|instance"),
        "a report has no prices",
        "perfc cost MODEL",
        Door.COST,
        is_of_many=True,
    ),
    Elsewhere(
        ("euro", "€", "£", "money", "cheap", "cheaper", "bill", "rent", "pay", "hourly", "budget",
         "eur", "does a million", "spend"),
        "a report has no prices",
        "perfc cost MODEL -t TARGET",
    ),
    Elsewhere(
        ("what|which batch fit", "what|which batch size fit", "largest|biggest batch",
         "largest|biggest batch size", "max|maximum|maximal batch",
         "max|maximum|maximal batch size",
         "batch fit", "batch size fit", "how large a batch", "how big a batch",
         "how large can the batch be", "how big can the batch be", "highest batch|batch size",
         "how many image|sample|sequence fit", "what batch can i use", "what batch size can i use"),
        "a report covers one batch size",
        "perfc fit MODEL --batch auto",
        Door.FIT,
    ),
    Elsewhere(
        ("which gpu|machine|device|card|hardware", "what gpu|machine|device|card|hardware",
         "best gpu|machine|device|card|hardware", "fastest gpu|machine|device|card|hardware",
         "which|what gpu should i use|buy|rent|pick|choose", "which|what gpu should i",
         "which|what gpu to use|buy|rent|pick|choose", "gpu is best|fastest",
         "which gpu is best|fastest|right|recommended", "other|another gpu", "better gpu|machine",
         "recommend a gpu", "which gpu do you recommend", "compare gpu|machine"),
        "a report covers one machine",
        "perfc compare MODEL -t NAME,NAME",
        Door.COMPARE,
        is_of_many=True,
    ),
    Elsewhere(
        ("carbon", "co2", "emission", "climate", "greenhouse", "carbon footprint", "co2e"),
        "a report has no regional electricity data",
        "perfc cost MODEL --region NAME",
    ),
    Elsewhere(
        ("p99", "p95", "p50", "percentile", "tail latency", "tail", "ttft", "tpot",
         "time to first token", "concurrent", "concurrency", "user", "queue", "queueing",
         "request", "arrival", "99 %", "95 %", "99.9 %", "serving", "serve", "slo"),
        "a report covers one run, without queueing",
        "perfc llm serve NAME",
    ),
    Elsewhere(
        ("measured time", "measured latency", "actual time", "measured on", "real time",
         "in reality", "actual latency", "measured", "real latency", "benchmarked", "profile",
         "measure", "wall clock"),
        "a report has predictions, not measurements",
        "perfc measure MODEL",
    ),
    Elsewhere(
        ("two gpu|gpus", "multi gpu|gpus", "multiple gpu|gpus", "several gpu|gpus", "nvlink",
         "8 gpu|gpus", "4 gpu|gpus", "2 gpu|gpus", "tensor parallel", "pipeline parallel",
         "data parallel", "cluster", "distributed", "infiniband", "allreduce", "all reduce",
         "number of gpus", "how many gpu|gpus"),
        "a report covers one device",
        "perfc plan MODEL --gpus N or perfc plan --curve MODEL",
    ),
    Elsewhere(
        ("compile time", "startup", "start up", "cold start", "warm up", "warmup", "load time",
         "loading time", "load the model", "loading", "build time", "download", "disk",
         "file size", "size on disk", "compilation"),
        "a report covers a run after loading and warm-up",
    ),
    Elsewhere(
        ("temperature", "heat", "cooling", "fan", "noise", "thermal", "throttle", "throttling",
         "hot does"),
        "a report has no temperatures",
    ),
    Elsewhere(
        ("at idle", "idle power", "power at idle", "per joule|watt", "efficiency per watt",
         "power limit", "clock", "frequency"),
        "a report has only the energy and the mean power of a run",
    ),
    Elsewhere(
        ("author", "license", "licence", "who wrote", "who made", "who trained", "copyright",
         "who created", "who built", "published", "paper", "inventor"),
        "a report does not name the authors of the model",
    ),
    Elsewhere(
        ("when was", "how old", "what year", "what date", "which year", "which date"),
        "a report has no dates of the model",
    ),
    Elsewhere(
        ("number of epoch", "epoch", "whole training", "train it from scratch", "finetune",
         "fine tune", "days to train", "train the model", "take to train", "to train it",
         "train this"),
        "a report covers one run or one step, not a whole training",
        "perfc predict MODEL --train adamw --steps N",
    ),
    Elsewhere(
        ("faster than", "slower than", "better than", "worse than", "more than", "less than",
         "compare", "compared to", "compared with", "versus", "vs", "cpu instead", "on a cpu",
         "on cpu", "on a phone", "mobile", "other model", "another model", "than the previous",
         "yesterday", "last week", "last version", "previous version"),
        "a report covers one model on one machine",
        "perfc compare MODEL -t NAME,NAME or perfc diff OLD NEW",
    ),
)  # fmt: skip
