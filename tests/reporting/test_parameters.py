"""Parameters of notebooks: declared in a tagged cell, and validated before anything runs."""

import pytest

from labkit.reporting.parameters import ParameterError, check_values, convert, declared
from tests.cases import cases
from tests.reporting.books import notebook

DEFAULTS = {"seed": 7, "target": "lab", "share": 0.5, "fast": True, "names": ["a"], "limit": None}


class TestDeclared:
    def test_names_and_defaults_come_from_the_tagged_cell(self) -> None:
        book = notebook(
            "other = 1", "# parameters\nseed = 7  # any\nwho: str = 'me'\nlow = -1.5\nnames = ['a']"
        )
        assert declared(book, "b") == {"seed": 7, "who": "me", "low": -1.5, "names": ["a"]}

    def test_a_notebook_without_a_tagged_cell_has_none(self) -> None:
        assert declared(notebook("seed = 7"), "b") == {}

    @cases(
        ("source", "said"),
        [
            ("print(1)", r"'print\(1\)'.*is no parameter"),
            ("a = b = 1", "'a = b = 1'.*is no parameter"),
            ("a: int", "'a: int'.*is no parameter"),
            ("seed = int('7')", "'seed' is not a literal"),
            ("seed = ", "is not Python"),
        ],
    )
    def test_anything_but_literals_is_refused(self, source: str, said: str) -> None:
        with pytest.raises(ParameterError, match=said):
            declared(notebook(f"# parameters\n{source}"), "b.ipynb")

    def test_two_tagged_cells_are_refused(self) -> None:
        with pytest.raises(ParameterError, match="2 cells"):
            declared(notebook("# parameters\na = 1", "# parameters\nb = 1"), "b")


class TestChecked:
    @cases(
        "given",
        [
            {},
            {"seed": 8},
            {"target": ""},
            {"share": 1},
            {"fast": False},
            {"names": []},
            {"limit": "x"},
            {"limit": 3},
        ],
    )
    def test_a_value_of_the_defaults_type_is_accepted(self, given: dict[str, object]) -> None:
        assert check_values(given, DEFAULTS, "b") == given

    @cases(
        "given",
        [
            {"seed": "8"},
            {"seed": True},
            {"seed": None},
            {"target": 8},
            {"share": "1"},
            {"fast": 1},
            {"names": "a"},
        ],
    )
    def test_a_value_of_another_type_is_refused(self, given: dict[str, object]) -> None:
        [name] = given
        with pytest.raises(ParameterError, match=f"b: parameter '{name}': expected"):
            check_values(given, DEFAULTS, "b")

    def test_a_misspelt_name_is_refused_with_the_existing_ones(self) -> None:
        with pytest.raises(ParameterError, match="unknown parameter 'sede'; there are: seed, target"):
            check_values({"sede": 8}, {"seed": 7, "target": "lab"}, "b")

    def test_a_notebook_without_parameters_refuses_any(self) -> None:
        with pytest.raises(ParameterError, match="it has none"):
            check_values({"seed": 8}, {}, "b")


class TestConverted:
    @cases(
        ("text", "default", "value"),
        [
            ("8", 7, 8),
            ("8", "lab", "8"),
            ("true", False, True),
            ("1.5", 0.5, 1.5),
            ('["b"]', ["a"], ["b"]),
            ("lab", None, "lab"),
            ("3", None, 3),
        ],
    )
    def test_text_is_converted_to_the_defaults_type(self, text: str, default: object, value: object) -> None:
        assert convert(text, default, "p") == value

    def test_text_of_another_type_is_refused(self) -> None:
        with pytest.raises(ParameterError, match="'seed': expected int, not 'seven'"):
            convert("seven", 7, "seed")
