"""Invalid settings: errors have the key, the expected value, and the line."""

from __future__ import annotations

import copy
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from labkit.core.errors import SettingsError
from labkit.core.lined_yaml import read_yaml
from labkit.settings import (
    Guard,
    LabSettings,
    ProductSettings,
    SolutionSettings,
    Wire,
    build,
    check_names,
    load,
    shown_key,
)
from tests.cases import cases
from tests.settings.lab_yaml import WHOLE, loaded, refused

WRONG = [
    ("https_port: x", "https_port: expected a valid integer, not 'x' (line 1)"),
    ("https_port: true", "https_port: expected a valid integer, not true (line 1)"),
    ("https_port: 65536", "https_port: expected less than or equal to 65535, not 65536 (line 1)"),
    ("tls: {key: dsa}", "tls.key: expected 'ec', 'rsa' or 'both', not 'dsa' (line 1)"),
    ("tls: {private_key: a.pem}", "tls: private_key is given without certificate (line 1)"),
    ("http_port: -1", "http_port: expected greater than or equal to 0, not -1 (line 1)"),
    ("\n\ndomian: x", "domian: unknown key (line 3)"),
    ("domain: Lab.Localhost", "domain: expected a host name in lower case, not 'Lab.Localhost' (line 1)"),
    ("domain: 5", "domain: expected a valid string, not 5 (line 1)"),
    ("data: 5", "data: expected a valid string, not 5 (line 1)"),
    ("profile: spce", "profile: expected 'spec' or 'field', not 'spce' (line 1)"),
    ("wire: 5", "wire: expected a mapping, not 5 (line 1)"),
    ("wire:\n  range_staus: 206", "wire.range_staus: unknown key (line 2)"),
    ("wire:\n  range_status: 207", "wire.range_status: expected 200 or 206, not 207 (line 2)"),
    (
        "wire: {last_modified: date}",
        "wire.last_modified: expected 'timestamp' or 'http-date', not 'date' (line 1)",
    ),
    (
        "wire: {download_framing: none}",
        "wire.download_framing: expected 'both', 'length' or 'chunked', not 'none' (line 1)",
    ),
    ("wire: {authorization_token: 1}", "wire.authorization_token: expected a valid boolean (line 1)"),
    ("wire: {token_headers: X-A}", "wire.token_headers: expected a list, not a text (line 1)"),
    (
        "wire: {token_headers: [X-A, 'X B']}",
        "wire.token_headers[1]: expected the name of a header, not 'X B' (line 1)",
    ),
    ("passwords: {memory: 7}", "passwords.memory: expected greater than or equal to 8 (line 1)"),
    ("guard: {header: 0}", "guard.header: expected greater than 0, not 0 (line 1)"),
    ("limits: all", "limits: expected published, or a mapping of limits, not 'all' (line 1)"),
    ("limits: {daily_mail: 3}", "limits.daily_mail: unknown key (line 1); did you mean daily_mails?"),
    ("guard: {header: .inf}", "guard.header: expected a finite number, not inf (line 1)"),
    ("seed: 7", "seed: unknown key (line 1), since a seed is not part of the file: use Lab(seed=7) or"),
    ("guard: {header: '1'}", "guard.header: expected a valid number, not '1' (line 1)"),
    ("products: {id: x}", "products: expected a list, not a mapping (line 1); as in - id: thermostat"),
    ("products:\n  - auth: token", "products[0].id: is required (line 2)"),
    ("products:\n  - id: x\n  - id: X", "products[1].id: expected lower-case letters"),
    ("products:\n  - id: x\n  - 5", "products[1]: expected a mapping, not 5 (line 3)"),
    (
        "products:\n  - id: x\n    auth: tokn",
        "products.x.auth: expected 'token', 'password' or 'certificate', not 'tokn' (line 3)",
    ),
    (
        "products:\n  - id: x\n    self_registration: maybe",
        "products.x.self_registration: expected a valid boolean, not 'maybe' (line 3)",
    ),
    (
        "products:\n  - id: x\n    resources:\n      a b: string",
        "products.x.resources.a b: expected 1 to 64 letters, digits, '_', '-', '.' or '$', not 'a b' (line 4)",
    ),
    (
        "products:\n  - id: x\n    resources:\n      a.b: {formt: string}",
        "products.x.resources.a.b.formt: unknown key (line 4); did you mean format?",
    ),
    (
        "products:\n  - id: x\n    resources:\n      a: text",
        "products.x.resources.a: expected 'string', 'number', 'boolean', 'integer' or 'float', not 'text' (line 4)",
    ),
    (
        "products:\n  - id: x\n    resources: {a: {allowed: [[1]]}}",
        "products.x.resources.a.allowed[0]: expected a mapping or a valid number or a valid string or",
    ),
    (
        "products:\n  - id: x\n    resources: {a: {allowed: [{min: 1}]}}",
        "products.x.resources.a.allowed[0].max: is required (line 3)",
    ),
    (
        "products:\n  - id: x\n    resources: {a: {allowed: [5, {min: 2, max: 1}]}}",
        "products.x.resources.a.allowed[1]: expected min to be at most max (line 3)",
    ),
    (
        "products:\n  - id: x\n    identity_format: {type: base12}",
        (
            "products.x.identity_format.type: expected 'opaque', 'base10', 'base16', 'uuid', 'uuidv4', 'mac', "
            "'mac:48', 'mac-48' or 'mac.48', not "
        ),
    ),
    (
        "products:\n  - id: x\n    identity_format: {length: 257}",
        "products.x.identity_format.length: expected less than or equal to 256, not 257 (line 3)",
    ),
    (
        "products:\n  - id: x\n    identities: [1]",
        "products.x.identities[0]: expected a valid string, not 1 (line 3)",
    ),
    ("products:\n  - id: x\n    content: [{id: a}]", "products.x.content.a.file: is required (line 3)"),
    (
        "products:\n  - id: x\n    content:\n      - file: none.bin",
        "products.x.content[0].file: no such file or folder: none.bin (line 4)",
    ),
    ("solutions:\n  - id: s\n    path: none", "solutions.s.path: no such file or folder: none (line 3)"),
    (
        "solutions:\n  - id: s\n    path:\n    - metrics\n    - none",
        "solutions.s.path[1]: no such file or folder: none (line 5)",
    ),
    ("solutions:\n  - id: s\n    path: 5", "solutions.s.path: expected a list, not 5 (line 3)"),
    (
        "solutions:\n  - id: s\n    services: {A: 1}",
        "solutions.s.services.A: expected a mapping, not 1 (line 3)",
    ),
    (
        "solutions:\n  - id: s\n    environment: {A: 1}",
        "solutions.s.environment.A: expected a valid string, not 1 (line 3)",
    ),
    (
        "products: [{id: x}]\nsolutions:\n  - id: s\n    products: [x, y]",
        "solutions.s.products[1]: no product 'y', there are: x (line 4)",
    ),
    ("products:\n  - id: x\n  - id: x", "products[1].id: 'x' is there already (line 3)"),
    ("solutions:\n  - id: x\n  - id: x", "solutions[1].id: 'x' is there already (line 3)"),
    ("https_port: 8453\nhttp_port: 8453", "http_port: 8453 is https_port, too (line 2)"),
    ("https_port: 1\nhttps_port: 2", "https_port: is given twice (line 2)"),
    (
        "products:\n  - id: x\n    resources: {a: string, a: number}",
        "products[0].resources.a: is given twice (line 3)",
    ),
    ("- a list", "settings: expected a mapping"),
    ("just text", "settings: expected a mapping"),
]


@cases(("text", "expected"), WRONG)
def test_an_invalid_setting_is_an_error_with_key_and_line(folder: Path, text: str, expected: str) -> None:
    assert refused(folder, text).startswith(expected)


TWO = [
    (
        "https_port: x\nproducts:\n  - id: lamp\n    auth: tokn\n",
        "https_port: expected a valid integer, not 'x' (line 1)",
        "products.lamp.auth: expected 'token', 'password' or 'certificate', not 'tokn' (line 4)",
    ),
    (
        "domain: a\ndomain: b\nhost: c\nhost: d\n",
        "domain: is given twice (line 2)",
        "host: is given twice (line 4)",
    ),
    ("domain: a\ndomain: b\nhots: c\n", "domain: is given twice (line 2)", "hots: unknown key (line 3)"),
    (
        "solutions:\n  - {id: hall, path: none}\n  - {id: shed, products: [lamp]}\n",
        "solutions.hall.path: no such file or folder: none (line 2)",
        "solutions.shed.products[0]: no product 'lamp', there are: none (line 3)",
    ),
    (
        "products:\n  - {id: lamp}\n  - {id: lamp}\n  - {id: lamp}\n",
        "products[1].id: 'lamp' is there already (line 3)",
        "products[2].id: 'lamp' is there already (line 4)",
    ),
    (
        "wire: {range_status: 5}\ntls: {certificate: a.pem, private_key: b.pem}\n",
        "wire.range_status: expected 200 or 206, not 5 (line 1)",
        "tls.certificate: no such file or folder: a.pem (line 2)",
    ),
]


@cases(("text", "first", "second"), TWO)
def test_two_mistakes_are_both_named_in_the_order_of_the_file(
    folder: Path, text: str, first: str, second: str
) -> None:
    with pytest.raises(SettingsError) as error:
        loaded(folder, text)
    one, two, *_ = error.value.parts
    assert one == first
    assert two.startswith(second)
    assert str(error.value).startswith(f"{one}; {two}")


def test_a_list_without_ids_or_with_equal_ones_has_indexes() -> None:
    for items in (
        [{"auth": 1}],
        [{"id": "x", "auth": 1}, {"id": "x"}],
        [{"id": "1", "auth": 1}],
        [{"id": "a b"}],
    ):
        assert shown_key(("products", 0, "auth"), {"products": items}) == "products[0].auth"
    assert shown_key(("products", 0, "id"), {"products": [{"id": "x"}]}) == "products[0].id"
    assert shown_key(("products", 0), {"products": [{"id": "lamp-1"}]}) == "products.lamp-1"
    assert shown_key(("social", 1, "x"), {"social": [{"name": "a"}, {"name": "b"}]}) == "social.b.x"
    assert shown_key((1, "x"), [{"name": "a"}, {"name": "b"}], "faults") == "faults.b.x"
    assert shown_key(("operations", 0, "x"), {"operations": [{"name": "a"}]}) == "operations[0].x"


@cases(
    ("values", "text"),
    [
        ({"environment": {"PASSWORD": 5}}, "environment.PASSWORD: expected a valid string"),
        ({"environment": {"PIN": True}}, "environment.PIN: expected a valid string"),
        ({"environment": {"apiKey": ["x"]}}, "environment.apiKey: expected a valid string, not a list"),
        ({"environment": {"ROOM": 5}}, "environment.ROOM: expected a valid string, not 5"),
        ({"services": {"Notify": "x" * 61}}, "services.Notify: expected a mapping, not a text"),
        ({"path": b"x"}, "path: expected a list, not bytes"),
        ({"path": [5]}, "path[0]: expected the path of a file or folder, not 5"),
    ],
)
def test_a_wrong_value_is_shown_unless_it_may_be_a_secret(values: dict[str, Any], text: str) -> None:
    with pytest.raises(SettingsError) as error:
        build(SolutionSettings, {"id": "x", **values})
    assert str(error.value) == text


@cases(
    ("text", "said"),
    [
        ("products:\n\t- {id: x}\n", "a tab; indent with spaces (line 2)"),
        ("domain: x\n\thost: y\n", "a tab; indent with spaces (line 2)"),
        ("a: 1\nb: c: d\n", "a second ':' in one line; put the value in quotes (line 2)"),
        ("a: @x\n", "'@' cannot begin a value; put the value in quotes (line 1)"),
        ("a:\n  [1,\n  2\n", "a list without its ']', or without a ',' (line 2)"),
        ("a: {b: 1\nc: 2\n", "a mapping without its '}', or without a ',' (line 1)"),
        ("a:\n  - b\n c: 1\n", "expected a key at the indentation of the one above (line 3)"),
        ("- {a: 1}}\n", "a '}' without its '{' (line 1)"),
        ("a:\n  - b: 1\n   c: 1\n", "expected the indentation of a key above (line 3)"),
        ("a: 1\n  b: 2\n", "expected the indentation of a key above (line 2)"),
        ("a:1\nb: 2\n", "expected a space after the ':' of 'a:' (line 1)"),
        ("a: 1\nb:1\nc: 2\n", "expected a space after the ':' of 'b:' (line 2)"),
        ("a\nb: 1\n", "a key without its ':', which a space follows (line 1)"),
        ("- a\nb: 1\n", "expected an item that begins with '-', as those above (line 2)"),
        ("a: 1\nb: 'x\n\n", "a text without its second quote (line 2)"),
        ("a: *x\n", "'*' begins an alias that no '&' defines; put a text in quotes (line 1)"),
        ("a: \x00\n", "unacceptable character #x0000: control characters are not allowed"),
    ],
)
def test_what_is_no_yaml_is_explained(folder: Path, text: str, said: str) -> None:
    assert refused(folder, text).endswith(f"lab.yaml: is not YAML: {said}")


@cases("text", ["a: [1", "a: b: c", "\t- x", "a: !!python/object:os.system x", "? [a]\n: b"])
def test_invalid_yaml_is_an_error_with_its_line(folder: Path, text: str) -> None:
    message = refused(folder, text)
    assert "lab.yaml: is not YAML: " in message
    assert "(line " in message


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.yaml: cannot be read: No such file"):
        load(tmp_path / "none.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"a: \xff")
    with pytest.raises(SettingsError, match=r"binary\.yaml: cannot be read: .*utf-8"):
        load(str(tmp_path / "binary.yaml"))


def test_errors_of_a_cells_arguments_have_no_line() -> None:
    with pytest.raises(
        SettingsError, match=r"^products\.x\.auth: expected 'token'.*'certificate', not 'none'$"
    ):
        build(LabSettings, {"products": [{"id": "x", "auth": "none"}]})
    with pytest.raises(SettingsError, match=r"^product 'x'\.auth: expected"):
        build(ProductSettings, {"id": "x", "auth": 1}, "product 'x'")


def test_settings_made_in_code_must_be_unique_too() -> None:
    settings = LabSettings(solutions=(SolutionSettings(id="s", products=("p",)),))
    with pytest.raises(
        SettingsError, match=r"^solutions\.s\.products\[0\]: no product 'p', there are: none$"
    ):
        check_names(settings)


def paths(value: object, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of each mapping of a document."""
    found: list[tuple[Any, ...]] = [above] if isinstance(value, dict) else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        found += paths(inner, (*above, name))
    return found


FREE = {"services", "Notify", "stubs"}  # sections whose keys are services and belong to them
NAMES = {
    "resources",
    "headers",
    "replace",
    "put",
    "edit",
    "if_given",
    "if_answer",
}  # keys that the user chooses
MAPPINGS = [
    path for path in paths(yaml.safe_load(WHOLE)) if not FREE & set(path) and not NAMES & set(path[-1:])
]


@given(st.sampled_from(MAPPINGS), st.from_regex(r"[a-z]{3,8}_x", fullmatch=True))
def test_a_misspelt_key_is_an_error_anywhere(path: tuple[Any, ...], key: str) -> None:
    document = yaml.safe_load(WHOLE)
    at = document
    for part in path:
        at = at[part]
    at[key] = 1
    text = yaml.safe_dump(document, sort_keys=False)
    with pytest.raises(SettingsError) as error:
        build_text(text)
    name = shown_key((*path, key), document)
    lines = text.splitlines()
    assert str(error.value).startswith(f"{name}: unknown key (line ")
    line = int(str(error.value).partition("(line ")[2].partition(")")[0])
    assert lines[line - 1].strip().removeprefix("- ").startswith(f"{key}:")


def build_text(text: str) -> None:
    """Load settings from a text."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "lab.yaml").write_text(text)
        load(Path(folder) / "lab.yaml")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(st.sampled_from([LabSettings, ProductSettings, SolutionSettings, Wire, Guard]), JSON, st.data())
def test_any_value_gives_settings_or_a_settings_error(
    model: type[BaseModel], value: Any, data: st.DataObject
) -> None:
    document: Any = {"id": "x"} if "id" in model.model_fields else {}
    key = data.draw(st.sampled_from([*model.model_fields]))
    try:
        built = build(model, {**document, key: value})
    except SettingsError as error:
        assert str(error).startswith(key)  # noqa: PT017 - both ways out are fine
    else:
        assert isinstance(built, model)


def test_dumped_settings_load_as_the_same_settings(folder: Path) -> None:
    settings = loaded(folder, WHOLE)
    assert build(LabSettings, copy.deepcopy(settings.model_dump())) == settings


NESTED = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGED = "a: &a {x0: 1}\n" + "".join(
    f"{name}: &{name} {{<<: [{', '.join([f'*{before}'] * 9)}]}}\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@cases(
    ("text", "words"),
    [
        (NESTED, "is too large: more than 200000 values, each alias counted as all that it repeats"),
        (MERGED, "is too large: more than 200000 values, each alias counted as all that it repeats"),
        ("a: [" + "1," * 200_000 + "]", "is too large: more than 200000 values"),
        ("k" * 1000 + ": [" + "1," * 100_000 + "]", "is too large: its keys are too long, and hold too much"),
        ("a: " + "1:1" * 1_000_000, "a number has more than 1000 characters (line 1)"),
        ("a: 0" + ":1" * 1_000_000 + ".0", "a number has more than 1000 characters (line 1)"),
        ("a: " + "x" * (1 << 24), "is too large, expected at most 16777216 bytes"),
        ("[" * 100_000, "is nested more than 200 levels deep (line 1)"),
        ("&a [*a]", "an anchor holds itself (line 1)"),
        ("products: &a {b: [*a]}", "an anchor holds itself (line 1)"),
    ],
)
def test_a_small_file_cannot_use_much_time_or_memory(folder: Path, text: str, words: str) -> None:
    before = time.process_time()
    message = refused(folder, text)
    assert words in message, message[:300]
    assert "lab.yaml: " in message
    assert time.process_time() - before < 5, "seconds of this process"


def test_read_yaml_returns_the_line_of_each_key(tmp_path: Path) -> None:
    file = tmp_path / "x.yaml"
    file.write_text("a:\n  - b: 1\n    c: {ON: on}\n  - 3\n")
    assert read_yaml(file) == (
        {"a": [{"b": 1, "c": {"ON": True}}, 3]},
        {"a": 1, "a[0]": 2, "a[0].b": 2, "a[0].c": 3, "a[0].c.ON": 3, "a[1]": 4},
    )
