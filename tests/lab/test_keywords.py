"""Keyword arguments that are declared once: equal to the model's keys, and seen by type checkers, IPython and help."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import reduce
from operator import or_
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from pydantic import BaseModel, BeforeValidator, IPvAnyNetwork

from labkit import Lab, LabError, SettingsError
from labkit.core.keywords import descriptions
from labkit.fleet.behaviours import Counter
from labkit.fleet.fault_arguments import DeviceFaultKeywords, SharedFaultKeywords
from labkit.fleet.fault_kinds import KINDS
from labkit.fleet.faults import FleetFaults
from labkit.lab.device_faults import LabDeviceFaults
from labkit.lab.faults import LabFaults
from labkit.lab.fleet import Fleet
from labkit.lab.product import LiveSettings
from labkit.lab.run_options import RunKeywords, RunOptions
from labkit.settings import (
    FaultKeywords,
    FaultSettings,
    Guard,
    JournalSettings,
    LabKeywords,
    LabSettings,
    ProductKeywords,
    ProductSettings,
    ProvidersSettings,
    SocialKeywords,
    SocialSettings,
    SolutionKeywords,
    SolutionSettings,
    Wire,
)


class Declared(NamedTuple):
    """A function, its typed dictionary and its model.

    own: its other parameters; left_out: keys of the model that the dictionary does not have.
    """

    function: Callable[..., Any]
    keywords: type
    model: type
    own: str = ""
    left_out: str = ""


RUN = (RunKeywords, RunOptions)
PRODUCT = (ProductKeywords, ProductSettings)
SOLUTION = (SolutionKeywords, SolutionSettings)
DECLARED = {
    "Lab": Declared(Lab.__init__, LabKeywords, LabSettings, "seed config speed start"),
    "lab.product": Declared(Lab.product, *PRODUCT, "id replace", "id"),
    "settings.change": Declared(LiveSettings.change, *PRODUCT, left_out="id"),
    "lab.solution": Declared(Lab.solution, *SOLUTION, "id products replace", "id products"),
    "lab.provider": Declared(Lab.provider, SocialKeywords, SocialSettings, "name", "name"),
    "lab.faults.add": Declared(LabFaults.add, FaultKeywords, FaultSettings, "where", "where"),
    "lab.faults.prepare": Declared(LabFaults.prepare, FaultKeywords, FaultSettings, "where", "where"),
    "fleet.run": Declared(Fleet.run, *RUN, "seconds progress check", "seconds"),
    "fleet.start": Declared(Fleet.start, *RUN, "seconds", "seconds"),
    "fleet.dashboard": Declared(Fleet.dashboard, *RUN, "seconds", "seconds"),
}
declared = pytest.mark.parametrize("declared", DECLARED.values(), ids=DECLARED)
shown = pytest.mark.parametrize(("name", "declared"), DECLARED.items(), ids=DECLARED)


def annotated(of: type) -> dict[str, Any]:
    return inspect.get_annotations(of, eval_str=True)


def completed(shell: InteractiveShell, cell: str) -> set[str]:
    with provisionalcompleter():
        return {each.text for each in shell.Completer.completions(cell, len(cell))}


@pytest.fixture
def fleet(lab: Lab) -> Fleet:
    return lab.product("meter", resources={"count": "number"}).fleet(1, Counter)


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    with Lab(seed=7) as lab:
        product = lab.product("p")
        handles = {"lab": lab, "settings": product.settings, "fleet": product.fleet(1, Counter)}
        shell = InteractiveShell(user_ns={"Lab": Lab, **handles})
        yield shell
        if shell.history_manager is not None:
            shell.history_manager.end_session()


class TestModels:
    @declared
    def test_a_dictionary_has_the_keys_and_types_of_its_model(self, declared: Declared) -> None:
        taken = keyword_types(declared.model)
        for name in declared.left_out.split():
            del taken[name]
        assert get_type_hints(declared.keywords) == taken

    @declared
    def test_a_function_takes_its_dictionary(self, declared: Declared) -> None:
        written = declared.function.__annotations__
        assert f"Unpack[{declared.keywords.__name__}]" in written.values()

    @declared
    def test_each_keyword_is_described(self, declared: Declared) -> None:
        assert descriptions(declared.model).keys() >= annotated(declared.keywords).keys()

    def test_the_types_are_compared(self) -> None:
        """The first test relies on `keyword_type`."""
        several = BeforeValidator(lambda value: value, json_schema_input_type=str | tuple[str, ...])
        assert keyword_type(Annotated[tuple[str, ...], several] | None) == str | Iterable[str] | None
        assert keyword_type(dict[str, tuple[LabSettings, ...]]) == Mapping[str, Iterable[Mapping[str, Any]]]
        assert keyword_type(tuple[Path, ...]) == Iterable[str | Path]
        assert keyword_type(Literal["a"]) == Literal["a"]
        assert keyword_type(int) != keyword_type(float)


@pytest.mark.xdist_group("ipython")  # its completer is slow to import
class TestCells:
    @declared
    def test_the_signature_has_each_key(self, declared: Declared) -> None:
        parameters = inspect.signature(declared.function).parameters
        assert parameters.keys() - {"self"} == {*annotated(declared.keywords), *declared.own.split()}
        assert not any(each.kind is each.VAR_KEYWORD for each in parameters.values())

    @shown
    def test_ipython_completes_each_key(self, shell: InteractiveShell, name: str, declared: Declared) -> None:
        keys = {f"{key}=" for key in annotated(declared.keywords)}
        assert completed(shell, f"{name}(") >= keys
        shell.Completer.use_jedi = False
        try:
            if (
                name != "settings.change"
            ):  # without jedi IPython reads no attribute of an object with __getattr__
                assert completed(shell, f"{name}(") >= keys
        finally:
            shell.Completer.use_jedi = True

    @shown
    def test_ipython_shows_each_key_with_its_description(
        self, shell: InteractiveShell, name: str, declared: Declared
    ) -> None:
        info = shell.object_inspect(name)
        definition = info["init_definition"] or info["definition"]
        docstring = info["init_docstring"] or info["docstring"]
        unwrapped = " ".join(docstring.split())
        described = descriptions(declared.model)
        for key in annotated(declared.keywords):
            assert f"{key}: " in definition, definition
            assert f"{key}: {described[key]}" in unwrapped, docstring

    def test_ipython_shows_the_keys_of_sections(self, shell: InteractiveShell) -> None:
        docstring = shell.object_inspect("Lab")["init_docstring"]
        for section in (Guard, Wire, JournalSettings, ProvidersSettings):
            assert f"({', '.join(section.model_fields)})" in " ".join(docstring.split())

    @pytest.mark.parametrize(
        ("function", "keywords"),
        [(FleetFaults.add, DeviceFaultKeywords), (LabDeviceFaults.add, SharedFaultKeywords)],
    )
    def test_the_signature_has_each_argument_of_a_fault_of_devices(
        self, function: Callable[..., str], keywords: type
    ) -> None:
        parameters = inspect.signature(function).parameters
        assert parameters.keys() - {"self", "does", "name", "products"} == annotated(keywords).keys()

    def test_the_faults_of_devices_are_described(self) -> None:
        docstring = inspect.getdoc(FleetFaults.add) or ""
        unwrapped = " ".join(docstring.split())
        for name, kind in KINDS.items():
            assert f"{name}: {kind.meaning}" in unwrapped, docstring


class TestMistakes:
    """mypy checks this file, and reports an `ignore` without an error."""

    def test_of_a_lab(self) -> None:
        with pytest.raises(SettingsError, match=r"Lab: profil: no such setting; did you mean profile\?"):
            Lab(profil="field")  # type: ignore[call-arg]
        with pytest.raises(SettingsError, match="https_port: expected a valid integer"):
            Lab(https_port="443")  # type: ignore[arg-type]

    def test_of_a_product(self, lab: Lab) -> None:
        with pytest.raises(SettingsError, match=r"'t': resorces: no such setting; did you mean resources\?"):
            lab.product("t", resorces={})  # type: ignore[call-arg]
        with pytest.raises(SettingsError, match="'t': auth: expected 'token', 'password' or 'certificate'"):
            lab.product("t", auth="magic")  # type: ignore[arg-type]
        with pytest.raises(SettingsError, match=r"'t': identities\[0\]: expected a valid string"):
            lab.product("t", identities=7)  # type: ignore[arg-type]

        product = lab.product("t")
        with pytest.raises(SettingsError, match="resorces"):
            product.settings.change(resorces={})  # type: ignore[call-arg]
        with pytest.raises(SettingsError, match="provisioning: expected a valid boolean"):
            product.settings.change(provisioning="no")  # type: ignore[arg-type]

    def test_of_a_solution(self, lab: Lab) -> None:
        with pytest.raises(SettingsError, match=r"'s': lua: no such setting; path is .*solution\.route\("):
            lab.solution("s", lua="return 1")  # type: ignore[call-arg]
        with pytest.raises(SettingsError, match=r"'s': product: no such setting; did you mean products\?"):
            lab.solution("s", product="t")  # type: ignore[call-arg]
        with pytest.raises(SettingsError, match="'s': path: expected a list, not"):
            lab.solution("s", path=7)  # type: ignore[arg-type]

    def test_of_a_provider(self, lab: Lab) -> None:
        with pytest.raises(SettingsError, match=r"'acme': peeple: no such setting; did you mean people\?"):
            lab.provider("acme", peeple=[])  # type: ignore[call-arg]
        with pytest.raises(SettingsError, match="'acme': protocol: expected 'oauth1' or 'oauth2'"):
            lab.provider("acme", protocol="saml")  # type: ignore[arg-type]

    def test_of_a_fault(self, lab: Lab) -> None:
        with pytest.raises(SettingsError, match=r"fault: statuss: no such setting; did you mean status\?"):
            lab.faults.add("GET /x", statuss=500)  # type: ignore[call-arg]
        with pytest.raises(SettingsError, match="fault at 'GET /x': status: expected a valid integer"):
            lab.faults.add("GET /x", status="500")  # type: ignore[arg-type]

    def test_of_a_run(self, fleet: Fleet) -> None:
        for begin in (fleet.run, fleet.start, fleet.dashboard):
            with pytest.raises(LabError, match=r"no argument 'minuts', there are: seconds, minutes"):
                begin(minuts=1)  # type: ignore[call-arg]
            with pytest.raises(LabError, match="requests: expected True or False, not 'all'"):
                begin(1, requests="all")  # type: ignore[arg-type]


def keyword_types(model: type) -> dict[str, Any]:
    """Return the types of a model's keys as keyword arguments. None, for a key that is not passed, is one too;
    dataclasses have their own types.
    """
    if is_dataclass(model):
        hints = get_type_hints(model)
        return {each.name: hints[each.name] for each in fields(model)}
    types = {name: keyword_type(each) for name, each in annotated(model).items()}
    return {name: each if each is Any else each | None for name, each in types.items()}


def keyword_type(kept: Any) -> Any:
    """Return the type that a cell may pass where a model stores another: any iterable for a tuple, a mapping for a
    section, the input type of a validator, and a text for a path or a network.
    """
    origin, arguments = get_origin(kept), get_args(kept)
    if origin is Annotated:
        inputs = [each.json_schema_input_type for each in arguments[1:] if isinstance(each, BeforeValidator)]
        return keyword_type(next((each for each in inputs if get_origin(each)), arguments[0]))
    if origin in (Union, UnionType):
        return reduce(or_, map(keyword_type, arguments))
    if origin is tuple:
        return Iterable[keyword_type(arguments[0])]  # type: ignore[misc]
    if origin is dict:
        key, value = map(keyword_type, arguments)
        return Mapping[key, value]  # type: ignore[valid-type]
    if isinstance(kept, type) and issubclass(kept, BaseModel):
        return Mapping[str, Any]
    return {Path: str | Path, NoneType: None, IPvAnyNetwork: str}.get(kept, kept)
