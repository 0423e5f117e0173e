"""Read quantization settings of a checkpoint: methods, their bits, groups, exceptions.

Sources: transformers, utils/quantization_config.py; vLLM, model_executor/layers/quantization;
compressed-tensors, quant_scheme.py and compressors; ModelOpt, hf_quant_config.json as TensorRT-LLM
reads it; AutoRound and Quark, their exported configurations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from perfc.common.fitted import data_next_to
from perfc.ir import record

from ..checkpoints.stored import WeightFile
from .keys import Keys
from .modules import checked
from .precision import WEIGHT_FORMATS, FormatRule, Quantization
from .precision import WeightFormat as Form


@record
class Method:
    """Keys under which one quantization method describes its formats.

    Args:
        types: format by the name of a type, in lower case.
        type_keys: keys that may name the type; the first one with a value counts. If the value is a
            flag or a list, the type has the name of the key.
        usual: type where none of these keys has a value; "" where one must have.
        group: keys of the number of weights that share a scale.
        skipped: keys of modules that stay in 16 bits.
        only: key of the modules that are quantised, where not all are.
        overrides: key of other types by module.
        is_of_experts: whether experts alone are quantised.
    """

    types: Mapping[str, Form]
    type_keys: tuple[str, ...] = ()
    usual: str = ""
    group: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ("modules_to_not_convert",)
    only: str = ""
    overrides: str = ""
    is_of_experts: bool = False


def _tables() -> tuple[dict[str, Mapping[str, Form]], dict[str, Method], dict[str, str]]:
    """Return formats by type of each table, methods by name, and names of methods by their keys."""
    read = data_next_to(__file__)

    def forms(types: dict[str, str]) -> Mapping[str, Form]:
        return {name: Form(form) for name, form in types.items()}

    tables = {name: forms(types) for name, types in read["types"].items()}
    methods: dict[str, Method] = {}
    for name, keys in read["methods"].items():
        types, aliases = keys.pop("types"), keys.pop("aliases", ())
        forms_of = tables[types] if isinstance(types, str) else forms(types)
        lists: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in keys.items()}
        methods |= dict.fromkeys((name, *aliases), Method(forms_of, **lists))
    return tables, methods, read["by_key"]


_TYPES, METHODS, _BY_KEY = _tables()
_SCHEMES = _TYPES["schemes"]
"""Types of methods that list schemes for groups of modules: compressed-tensors and Quark."""


def quantization_of(keys: Keys) -> Quantization | None:
    """Return how the weights of a configuration are quantised; None where they are not.

    Args:
        keys: keys of the configuration.

    Raises:
        ModelError: the method, its type or a pattern is unknown, or a key is wrong.
    """
    config = None
    # in a wrapper, the language model may be quantised without its towers
    for holder in (keys, keys.inner("text_config")):
        for name in ("quantization_config", "compression_config"):
            config = config or (holder.inner(name) if holder is not None else None)
    if config is None or not config.values:
        return None
    name = config.text("quant_method") or next(
        (method for key, method in _BY_KEY.items() if config.get(key) is not None), ""
    )
    method = METHODS.get(name.lower())
    if method is None:
        raise keys.unsupported(
            f"no quantisation method {name[:32]!r}"
            if name
            else "no 'quant_method' in 'quantization_config'",
            hint=f"known: {', '.join(sorted(METHODS))}",
        )
    # ModelOpt puts its keys one level deeper
    inside = config.inner("quantization")
    return _read(config if inside is None else inside, method)


def stored_quantization(stored: WeightFile) -> Quantization:
    """Return the formats of the weights of a file; the type of most bytes is that of the whole."""
    forms = [WEIGHT_FORMATS.get(t.name, Form.HALF) for t in stored.types]
    return Quantization(next(iter(forms), Form.HALF), stored=stored)


def _read(keys: Keys, method: Method) -> Quantization:
    """Return the quantization that the keys of one method describe.

    Raises:
        ModelError: as `quantization_of`.
    """
    rules = [FormatRule(tuple(_skipped(keys, method)), Form.HALF), *_overrides(keys, method)]
    groups = list(_schemes(keys, method)) if method.types is _SCHEMES else []
    if groups:
        _, form, group = groups[0]
        rules += [FormatRule(*scheme) for scheme in groups[1:]]
    else:
        is_mixed = _type_at(keys, "quant_algo") == "mixed_precision"
        form = Form.HALF if is_mixed else _form(keys, method)
        group = _group(keys, method)
    # only the listed modules have the format, and all other modules have 16 bits
    if only := _only(keys, method):
        rules.append(FormatRule(only, form, group))
        form = Form.HALF
    # a rule without modules is of whole classes of modules, which have ``form``, or skips nothing
    retained = tuple(rule for rule in rules if rule.modules)
    if method.is_of_experts:
        return Quantization(Form.HALF, form, group, retained)
    return Quantization(form, None, group, retained)


def _at(keys: Keys, path: str) -> Any:
    """Return the value under a dotted path; None if it is absent."""
    *outer, last = path.split(".")
    for name in outer:
        if not isinstance(keys.get(name), dict):
            return None
        keys = Keys(keys.get(name), keys.where)
    return keys.get(last)


def _type_at(keys: Keys, path: str) -> str:
    """Return the type that a key names, in lower case; "" without one."""
    value = _at(keys, path)
    name = path.rpartition(".")[2]
    # a text or number is the type itself; a flag or a list is named by its key
    match value:
        case None | False:
            return ""
        case True | [_, *_]:
            return name
        case str() | int():
            plain = str(value)[:64].lower()
            # torchao names a class or a function: Int4WeightOnlyConfig, int4_weight_only
            return plain.removesuffix("config").replace("_", "") if "_type" in path else plain
        case _:
            raise keys.wrong(name, value, "a type of weights")


def _form(keys: Keys, method: Method) -> Form:
    """Return the format that the keys of a method name.

    Raises:
        ModelError: they name none that is known.
    """
    if "in_group_size" in keys.values:
        # AQLM: codes of a group of weights, in bits per weight
        weights = keys.whole("in_group_size") * keys.whole("out_group_size", default=1)
        bits = keys.whole("num_codebooks") * keys.whole("nbits_per_codebook")
        name = f"{bits / weights:g}"
    else:
        named_types = (_type_at(keys, path) for path in method.type_keys)
        name = next(filter(None, named_types), method.usual)
    return _typed(keys, method, name)


def _typed(keys: Keys, method: Method, name: str) -> Form:
    """Return the format by the name of a type.

    Raises:
        ModelError: the method has no such type; names those that it has.
    """
    form = method.types.get(name)
    if form is None:
        quoted = f" {name[:32]!r}" if name else ""
        hint = f"known: {', '.join(method.types)}"
        raise keys.unsupported(f"no type of quantised weights{quoted}", hint=hint)
    return form


def _group(keys: Keys, method: Method) -> int:
    """Return the number of weights that share a scale; -1 for a whole column, 0 if not given.

    Raises:
        ModelError: it is no such number.
    """
    for path in method.group:
        value = _at(keys, path)
        if isinstance(value, list):
            value = value[-1] if value else None  # the columns of a block [rows, columns]
        if value is None:
            continue
        holder = Keys({"group_size": value}, keys.where)
        group = holder.whole("group_size", least=-1)
        # some files have 0 for a whole column
        return -1 if group == 0 else group
    return 0


def _skipped(keys: Keys, method: Method) -> Iterator[str]:
    """Yield patterns of modules that stay in 16 bits."""
    for name in method.skipped:
        for pattern in keys.texts(name) or ():
            yield checked(pattern, keys.where)


def _only(keys: Keys, method: Method) -> tuple[str, ...]:
    """Return the modules that are quantized, if a method lists them."""
    listed = keys.sequence(method.only) if method.only else None
    # GPTQ lists modules, or lists of the modules that it quantises together
    modules = [m for entry in listed or () for m in (entry if isinstance(entry, list) else [entry])]
    return Keys({"modules": modules or None}, keys.where).texts("modules") or ()


def _overrides(keys: Keys, method: Method) -> Iterator[FormatRule]:
    """Yield the formats of single modules.

    Raises:
        ModelError: as `quantization_of`.
    """
    listed = keys.inner(method.overrides) if method.overrides else None
    for pattern in listed.values if listed is not None else ():
        assert listed is not None
        single = listed.inner(pattern)
        # GPTQModel: "-:" leaves modules in 16 bits, "+:" gives them other settings; behind these
        # stands a regular expression
        name = pattern[1:] if pattern[:2] in ("-:", "+:") else pattern
        plain = f"re:{name[1:]}" if name[:1] == ":" else name
        is_half = pattern.startswith("-:") or single is None
        if single is not None and not is_half:
            is_half = "bits" in single.values and single.whole("bits") >= 16
        form = Form.HALF if is_half or single is None else _form(single, method)
        group = 0 if single is None else _group(single, method)
        yield FormatRule((checked(plain, keys.where),), form, group)


_SPELLINGS = {"fp4": "float4", "mxfp4": "float4", "fp8_e4m3": "float8"}
"""Names of types in compressed-tensors, by other names, such as Quark's."""
_CLASSES = frozenset({"Linear", "LinearBase", "FusedMoE", "Attention", "Conv1D"})
"""Targets that are classes of modules, not modules."""


def _schemes(keys: Keys, method: Method) -> Iterator[tuple[tuple[str, ...], Form, int]]:
    """Yield targets, format and group of each scheme, first the scheme of whole classes of modules.

    Raises:
        ModelError: as `quantization_of`.
    """
    schemes = []
    groups = keys.inner("config_groups")
    whole = keys.inner("global_quant_config")
    for name in groups.values if groups is not None else ():
        assert groups is not None
        # a predefined scheme, such as W4A16, with its targets
        if isinstance(groups.get(name), list):
            schemes.append((tuple(groups.texts(name) or ()), _typed(keys, method, name.lower()), 0))
            continue
        single = groups.inner(name)
        if single is not None:
            targets = single.texts("targets") or ("Linear",)
            schemes.append((targets, *_scheme(single, "weights", "input_activations", method)))
    if whole is not None:
        schemes.append((("Linear",), *_scheme(whole, "weight", "input_tensors", method)))
    if not schemes:
        raise keys.unsupported("neither 'config_groups' nor 'global_quant_config'")
    # classes of modules first: the first scheme is the default
    schemes.sort(key=lambda scheme: _CLASSES.isdisjoint(scheme[0]))
    for targets, form, group in schemes:
        yield tuple(checked(t, keys.where) for t in targets if t not in _CLASSES), form, group


def _scheme(keys: Keys, weights: str, activations: str, method: Method) -> tuple[Form, int]:
    """Return format and group of one scheme of compressed-tensors or Quark."""
    scheme = keys.inner(weights)
    if scheme is None:
        return Form.HALF, 0
    name = (
        scheme.text("dtype") or f"{scheme.text('type', 'int')}{scheme.whole('num_bits', default=8)}"
    )
    name = _SPELLINGS.get(name.lower(), name.lower())
    strategy = scheme.text("strategy") or scheme.text("qscheme").removeprefix("per_")
    # a method without types, as only its key of the group is read
    group = _group(scheme, Method({}, group=("group_size",)))
    if strategy == "block":
        name += " block"
    # groups of 32 are MXFP4's, groups of 16 NVFP4's
    elif name == "float4" and group == 32:
        name += " of 32"
    # "+": activations are quantised too
    form = _typed(scheme, method, name + "+" * (keys.get(activations) is not None))
    # a group of -1 is a whole channel or tensor, as GPTQ has it
    return form, -1 if strategy in ("channel", "tensor") else group
