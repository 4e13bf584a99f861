"""The words of tests in Lua: what they run, in which order, and what their failures say."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit import Lab
from labkit.core.errors import LabError
from labkit.script_tests.results import ScriptTestResults
from labkit.script_tests.suite import TestSuite
from labkit.solutions.checking.shapes import shapes

MODULE = "local units = {}\nfunction units.celsius(f) return (f - 32) / 1.8 end\nreturn units\n"


def results(folder: Path, text: str, **modules: str) -> ScriptTestResults:
    """Run the tests in a text, and return their results."""
    for name, source in {"units": MODULE, **modules}.items():
        (folder / "modules").mkdir(exist_ok=True)
        (folder / "modules" / f"{name}.lua").write_text(source)
    (folder / "tests").mkdir(exist_ok=True)
    (folder / "tests" / "a.lua").write_text(text)
    with Lab(seed=1) as lab:
        return lab.solution("acme", path=folder).test(progress=False)


def statuses(found: ScriptTestResults) -> dict[str, str]:
    return {each.test.name: each.status for each in found}


HOLDS = [
    f"for name in ([[{shapes()['test_globals']}]]):gmatch('%S+') do assert.is_not_nil(_G[name], name) end",
    "assert(1)",
    "assert.equal(2, 1 + 1)",
    "assert.are.equal('a', 'a')",
    "assert.are_equal('a', 'a')",
    "assert.are_not.equal({}, {})",
    "assert.is_not.same({1}, {1, 2})",
    "assert.same({a = {1, 2, [3.5] = 'é'}}, {a = {1, 2, [3.5] = 'é'}})",
    "local t = {} t.t = t local u = {} u.t = u assert.same(t, u)",
    "assert.is_true(true) assert.is_false(false) assert.is.True(true)",
    "assert.is_nil(nil) assert.is_not_nil(0) assert.is_nil(({}).x)",
    "assert.truthy('') assert.falsy(nil) assert.is_falsy(false) assert.is_truthy(0)",
    "assert.is_string('a') assert.is.number(1) assert.is_table({}) assert.is_function(print) assert.is_boolean(false)",
    "assert.near(1, 1.05, 0.1) assert.is_not.near(1, 1.2, 0.1)",
    "assert.matches('^a.c$', 'abc') assert.no.match('x', 'abc')",
    "assert.has_error(function() error('oh') end)",
    "assert.has_error(function() error('oh') end, 'oh')",
    "assert.has.errors(function() error({code = 1}) end, {code = 1})",
    "assert.has_no.errors(function() end) assert.has_no_errors(function() end)",
    "assert.error_matches(function() error('number 17') end, '%d+')",
    "assert.unique({1, 2, {1}, {1}}) assert.is_not.unique({{1}, {1}}, true) assert.is_not.unique({1, 1})",
    "assert.message('no').is_true(true) assert.is.Not.True(false) assert.not_nil(1) assert.Is.Function(print)",
    "assert.returned_arguments(2, (function() return 1, nil end)())",
    "assert.equal('b', assert.matches('a(.)', 'ab')) assert.matches('1.', 15) assert.matches('.', 'a.b', 1, true)",
    "assert.equal('oh', assert.has_error(function() error('oh') end)) assert.error(function() error(7) end, 7)",
    "assert.error.matches(function() error('a.b') end, '.b', nil, true) assert.no.error.matches(error, 'x')",
    "assert.same({1}, require('luassert') and {1}) require('busted.runner')() require('busted').it = nil",
    "local e = setmetatable({}, {__tostring = function() return 'x' end}) assert.error(function() error(e) end, 'x')",
    "local a, b = assert(1, 2) assert.equal(3, a + b)",
    "assert.equal(0/0 ~= 0/0, true) assert.same({0/0}, {0/0})",
]
FAILS = [
    ("assert(false)", "assertion failed!"),
    ("assert(nil, 'why')", "why"),
    ("assert.equal(1, 2)", "expected:\n1\nbut it is:\n2"),
    ("assert.equal(1, '1', 'of types')", "of types\nexpected:\n1\nbut it is:\n\"1\""),
    ("assert.same({a = 1}, {b = 2})", "expected the same as:\n{\n  a = 1,\n}\nbut it is:\n{\n  b = 2,\n}"),
    ("assert.same({1, 2}, {1})", "expected the same as:"),
    ("assert.is_nil(false)", "expected:\nnil\nbut it is:\nfalse"),
    ("assert.is_not_nil(nil, 'there')", "there\nexpected anything else than:\nnil"),
    ("assert.is_true(1)", "expected:\ntrue"),
    ("assert.near(1, 'x', 1)", "expected within 1 of:"),
    ("assert.has_error(function() end)", "expected an error"),
    ("assert.has_error(function() error('a') end, 'b')", 'expected the error:\n"b"\nbut it is:\n"a"'),
    ("assert.has_no.errors(function() error('a') end)", "expected no error, but it is:\ntests/a.lua:"),
    ("assert.unique({1, 1})", "expected different elements"),
    ("assert.is_string(1)", "expected a string: 1"),
    ("assert.is_eqal(1, 1)", "assert has no check 'eqal'; did you mean equal?"),
    ("assert.are.eqal(1, 1)", "assert has no check 'eqal'; did you mean equal?"),
    ("assert.is.purple(1)", "assert has no check 'purple'; there are: boolean, equal, equals"),
    ("assert.equal(1)", "assert.equal: expected 2 arguments, not 1"),
    ("assert.near(1, 2)", "assert.near: expected 3 arguments, not 2"),
    ("assert.has_error(1)", "assert.has_error: argument 1: expected a function, not 1"),
    ("assert.message('why').is_true(false)", "why\nexpected:\ntrue"),
    ("assert.is_not.unique({1, 2})", "expected an element that comes twice: {"),
    ("assert.unique({{1}, {1}}, true, 'deep')", "deep\nexpected different elements"),
    ("assert.returned_arguments(2, 1)", "expected as many results as:\n2\nbut it is:\n1"),
    ("assert.error.matches(function() error('a') end, 'b')", "expected an error that matches:\n\"b\""),
    ("spy.on(lab, 'now')", "spy: tests have no spies, stubs, mocks and matchers: lab.stub"),
    ("assert.spy(print).was.called()", "assert.spy: tests have no spies"),
    ("describe('b', function() end)", "describe: belongs beside tests"),
    ("it('b', function() end)", "it: belongs beside tests"),
    ("local x = nil\nx.y = 1", "attempt to index local 'x'"),
    ("error({code = 7})", "the error is {\n  code = 7,\n}"),
    ("Keystore.set('a')", "Keystore.set: arguments must be a table, not \"a\""),
    ("Keystore:get{key = 'a'}", "Keystore:get: expected a dot instead of the colon: Keystore.get{…}"),
    ("return Keystore:get{key = 'a'}", "Keystore:get: expected a dot instead of the colon"),
    ("Keystore.set{key = 'a', value = {print}}", "Keystore.set.value.1: expected a value such as a text"),
    ("solution.get(1)", "solution.get: path: expected a text, not 1: solution.get('/path'"),
    ("solution:get('/')", "solution:get: expected a dot instead of the colon: solution.get(…)"),
    ("assert.equal(200, solution.get('/').status_code)", "an answer has no field 'status_code'; did you mean status?"),
    ("assert.equal({1}, {1})", "which is another table: assert.same compares what tables have"),
    ("solution.gett('/')", "solution has no function 'gett'; did you mean get?"),
    ("solution.get('/', {headers = {'a', 1}})", "headers: expected a table with names and values"),
    ("solution.post('/', {body = {a = 1}})", "body: expected a text, not {'a': 1}; json = {…} sends a table"),
    ("lab.advnce(1)", "lab has no function 'advnce'; did you mean advance?"),
    ("lab.advance('1h')", "lab.advance: expected a number or a table, not \"1h\""),
    ("lab.stub('Twilio', {send = function() end})", "lab.stub: Twilio.send: expected the result, not a function"),
    ("lab.stub('Twilio', {send = {a = {print}}})", "lab.stub: Twilio.send.a.1: expected a value"),
    ("lab.stub(5)", "lab.stub: service: expected a text, not 5"),
    ("solution.get('/', {hedaers = {}})", "no option of a request 'hedaers'"),
    ("lab.advance{weeks = 1}", "weeks"),
    ("lab.device('t')", "device: name the product, one of: none"),
    ("lab.calls('Twilio')", "no stub 'Twilio', there are: none; lab.stub adds one"),
    ("lab.calls('Keystore')", "lab.calls: Keystore is no stub of this test; lab.stub replaces one of lab.yaml, and "),
    ("Labkit.advnce{}", "Labkit has no function 'advnce'; did you mean lab.advance?"),
    ("murano.services.labkit.settle{}", "there is no service 'Labkit': tests call functions of lab and solution"),
    ("lab.fault('Keystore.set', {satus = 500})", "satus"),
    ("while true do end", "CPU limit"),
    ("local t = {} while true do t[#t + 1] = ('x'):rep(1000) .. #t end", "memory limit"),
    ("os.exit()", "nil"),
    ("io.open('/etc/passwd')", "nil"),
    ("require 'none'", "module 'none' not found"),
]  # fmt: skip


def test_each_check_holds_where_it_should(tmp_path: Path) -> None:
    text = "\n".join(f"it('{number}', function()\n{line}\nend)" for number, line in enumerate(HOLDS))
    found = results(tmp_path, text)
    assert [each.message for each in found] == [""] * len(HOLDS)


@pytest.mark.sampled
def test_each_check_fails_where_it_should_with_place_and_reason(tmp_path: Path) -> None:
    text = "".join(f"it('{number}', function()\n{line}\nend)\n" for number, (line, _) in enumerate(FAILS))
    found = results(tmp_path, text)
    assert len(found) == len(FAILS)
    for each, (line, reason) in zip(found, FAILS, strict=True):
        assert each.status == "failed", line
        assert reason in each.message, each.message
    first = [each.message.partition(":")[0] for each in found]
    assert first == ["tests/a.lua"] * len(FAILS)
    lines = [int(each.message.split(":")[1]) for each in found]
    assert [
        each.test.line <= line <= each.test.line + 2 for each, line in zip(found, lines, strict=True)
    ] == [True] * len(FAILS)


def test_functions_around_a_test_run_in_order_also_after_an_error(tmp_path: Path) -> None:
    text = """
    setup(function() print 's0' end)
    teardown(function() print 't0' end)
    before_each(function() print 'b0' end)
    after_each(function() print 'a0' end)
    describe('in', function()
      local count = 0
      setup(function() print 's1' end)
      teardown(function() print 't1' end)
      before_each(function() count = count + 1 print('b1', count) end)
      after_each(function() print 'a1' error('after') end)
      it('one', function() finally(function() print 'f' end) print 'it' error('within') end)
      it('two', function() end)
      pending('three')
      it('four')
      it('five', function() pending('not yet') end)
    end)
    """
    found = results(tmp_path, text)
    around = ["s0", "s1", "b0", "b1\t1", "it", "f", "a1", "a0", "t1", "t0"]
    assert list(found[0].printed) == around
    assert list(found[1].printed) == [each for each in around if each not in ("it", "f")]
    assert "within" in found[0].message
    assert "after" in found[1].message
    assert [(each.test.name, each.status) for each in found[2:]] == [
        ("in three", "pending"),
        ("in four", "pending"),
        ("in five", "failed"),  # by its after_each
    ]
    assert repr(found).splitlines()[-1] == "3 failed, 2 pending"


def test_each_test_has_a_lab_and_globals_of_its_own_and_the_lab_stays(tmp_path: Path) -> None:
    (tmp_path / "endpoints").mkdir()
    (tmp_path / "endpoints" / "a.lua").write_text(
        "--#ENDPOINT GET /n\nreturn {n = Keystore.command{key = 'n', command = 'incr'}.value}\n"
    )
    (tmp_path / "tests").mkdir()
    body = """
      assert.is_nil(mine) mine = 1
      local answer = solution.get('/n')
      assert.equal(200, answer.status)
      assert.equal('application/json', answer.headers['Content-Type']:match('^[^;]+'))
      assert.same({n = 1}, answer.json)
      assert.equal('1', tostring(Keystore.get{key = 'n'}.value))
      local before = lab.now()
      lab.advance{hours = 2}
      assert.equal(7200, lab.now() - before)
      assert.equal(os.time(), lab.now())
    """
    (tmp_path / "tests" / "a.lua").write_text(
        "".join(f"it('{name}', function() {body} end)\n" for name in "ab")
    )
    with Lab(seed=1) as lab:
        solution = lab.solution("acme", path=tmp_path)
        began = lab.clock.time
        assert statuses(solution.test(progress=False)) == {"a": "passed", "b": "passed"}
        assert (lab.clock.time, solution.Keystore.get(key="n")) == (began, {})
        assert statuses(solution.test("b", progress=False)) == {"b": "passed"}
        with pytest.raises(LabError, match="no test has 'c' in its name or file, of 2 tests"):
            solution.test("c")
        with pytest.raises(LabError, match="has no tests: expected"):
            lab.solution("empty").test()


def test_devices_stubs_faults_and_mails(tmp_path: Path) -> None:
    (tmp_path / "services").mkdir()
    (tmp_path / "services" / "device_datapoint.lua").write_text(
        "Keystore.set{key = 'last', value = data.value[2]}\n"
        "Twilio.postMessage{To = 'ann', Body = data.value[2]}\n"
        "Email.send{to = 'ann@example.com', subject = 'hot', text = 'at http://x.example/y'}\n"
    )
    (tmp_path / "specs").mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "device.lua").write_text("""
    local device
    before_each(function()
      lab.stub('Twilio', {postMessage = {sid = '1'}})
      device = lab.device('t-1')
    end)
    it('writes', function()
      device:write{temperature = 21.5}
      assert.same({{operation = 'postMessage', arguments = {To = 'ann', Body = '21.5'}}}, lab.calls('Twilio'))
      assert.equal('21.5', device.read('temperature').temperature)
      assert.equal('hot', lab.mails()[1].subject)
      assert.same({'http://x.example/y'}, lab.mails()[1].links)
      assert.equal('datapoint', lab.journal('event')[3].summary)
    end)
    it('meets a fault', function()
      local fault = lab.fault('Keystore.set', {status = 503})
      device.write{temperature = 1}
      assert.is_nil(Keystore.get{key = 'last'}.value)
      fault.remove()
      lab.restart()
      device.write{temperature = 2}
      lab.settle()
      assert.equal('2', Keystore.get{key = 'last'}.value)
      assert.equal('no such alias', device.read('temprature').temprature or 'no such alias')
    end)
    """)
    with Lab(seed=1) as lab:
        product = lab.product("thermostat", resources={"temperature": "number"})
        lab.product("other", resources={})
        lab.service("Twilio", postMessage=lambda **others: {})
        found = lab.solution("acme", path=tmp_path, products=[product]).test(progress=False)
    assert [each.message for each in found] == ["", ""]
    assert statuses(found) == {"writes": "passed", "meets a fault": "passed"}


def test_a_failure_has_the_errors_of_the_solutions_scripts(tmp_path: Path) -> None:
    (tmp_path / "endpoints").mkdir()
    (tmp_path / "endpoints" / "a.lua").write_text(
        "--#ENDPOINT GET /a\nprint('x')\nKeystore.get{key = nil}\nlocal t = nil\nreturn t.x\n"
        "--#ENDPOINT GET /b\nresponse.headers = {'A: b'}\n"
    )
    found = results(
        tmp_path,
        "it('a', function() Keystore.get{} solution.get('/b') print('hi')\n"
        "assert.equal(200, solution.get('/a').status) end)",
    )
    assert found[0].printed == ("hi",)
    unsent, failed = found[0].errors
    assert unsent.startswith(
        "the answer of GET /b cannot be sent: response.headers: expected values by name, "
    )
    assert unsent.endswith("not a list (endpoints/a.lua:6)")
    assert failed == "GET /a: endpoints/a.lua:5: attempt to index local 't' (a nil value)"
    own, refused = found[0].refused
    assert own.startswith("tests/a.lua:1: Keystore.get: 400 ")
    assert refused.startswith("GET /a: 400 acme Keystore.get: ")
    assert f"a call was refused: {refused}" in repr(found)
    assert "printed: hi" in repr(found)
    assert "a script failed: GET /a: endpoints/a.lua:5" in repr(found)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("end", "tests/a.lua:1: '<eof>' expected near 'end'"),
        ("Keystore.get{key = 'a'}", "tests/a.lua:1: Keystore.get: belongs into a test, not beside it"),
        ("murano.services.keystore.get{}", "tests/a.lua:1: Keystore.get: belongs into a test, not beside it"),
        ("solution.get('/')", "tests/a.lua:1: request: belongs into a test"),
        (
            "describe('a')",
            "tests/a.lua:1: describe expects a function, not nil: describe('name', function() … end)",
        ),
        ("it(1, function() end)", "tests/a.lua:1: it expects a name, not 1"),
        ("while true do end", "tests/a.lua:1: CPU limit: more than 2 s"),
        ("error('oh')", "tests/a.lua:1: oh"),
        ("finally(function() end)", "finally belongs into a test"),
        ("x = nil .. 'a'", "tests/a.lua:1: attempt to concatenate"),
    ],
)
def test_a_file_that_is_wrong_is_a_test_that_fails(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "a.lua").write_text(text)
    (tmp_path / "tests" / "b.lua").write_text("it('b', function() end)")
    wrong, good = TestSuite(tmp_path, lambda: 0.0).tests()
    assert reason in wrong.problem
    assert (wrong.name, wrong.line, good.name, good.problem) == ("tests/a.lua", 1, "b", "")


def test_the_files_with_tests(tmp_path: Path) -> None:
    for name in (
        "tests/a.lua", "tests/deep/b.lua", "spec/c.lua", "test/d.lua", "modules/e_test.lua", "f_spec.lua",
        "modules/g.lua", "endpoints/tests/h.lua", ".hidden/i_test.lua", "node_modules/j_test.lua", "tests/k.txt",
        "services/é_test.lua",
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"it('{name}', function() end)" if name.endswith(".lua") else "")
    (tmp_path / "tests" / "link_test.lua").symlink_to(tmp_path / "modules" / "g.lua")
    names = [each.name for each in TestSuite(tmp_path, lambda: 0.0).tests()]
    assert names == sorted(
        [
            *("tests/a.lua", "tests/deep/b.lua", "spec/c.lua", "test/d.lua"),
            *("modules/e_test.lua", "f_spec.lua", "services/é_test.lua"),
        ]
    )


def test_helpers_beside_tests_and_modules_are_required_by_name(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "helper.lua").write_text("return {two = 2}\n")
    found = results(tmp_path, "it('a', function() assert.equal(2, require('tests.helper').two) end)")
    assert statuses(found) == {"a": "passed"}


def test_a_websocket_takes_headers_query_and_protocols(tmp_path: Path) -> None:
    (tmp_path / "endpoints").mkdir()
    (tmp_path / "endpoints" / "live.lua").write_text(
        "--#ENDPOINT WEBSOCKET /live\n"
        "local info = websocketInfo\n"
        "if info.type == 'open' then info.send(to_json({info.headers['x-user'], info.uri})) end\n"
        "if info.type == 'data' then info.send(info.message) info.send('more') end\n"
        "--#ENDPOINT POST /form application/x-www-form-urlencoded\nreturn request.body.a .. request.headers.x\n"
    )
    found = results(
        tmp_path,
        """
        it('opens', function()
          local socket = solution.websocket('/live', {
            headers = {['X-User'] = 'é b'}, query = {a = '1 2', b = {'3', '4'}}, protocols = {'v1'},
          })
          local opened = from_json(socket:receive())
          print(opened[1], opened[2])
          socket.send({n = 1})
          assert.same({'{"n": 1}', 'more'}, socket:messages())
          assert.has_error(function() socket.sned('a') end)
          socket:close(3000)
        end)
        it('sends a form', function()
          assert.matches('bc', solution.post('/form', {form = {a = 'b'}, headers = {x = 'c'}}).body)
        end)
        it('names a wrong option', function() solution.websocket('/live', {header = {a = 1}}) end)
        """,
    )
    assert [each.status for each in found] == ["passed", "passed", "failed"], [each.message for each in found]
    [line] = found[0].printed
    assert "/live?a=1+2&b=3&b=4" in line
    assert (
        "no option of a websocket 'header', there are: headers, query, protocols; did you mean headers?"
        in found[2].message
    )


def test_a_file_is_read_once_and_each_test_has_its_own_copy(tmp_path: Path) -> None:
    text = "local n = 0 count = 0 print('read')\n" + "".join(
        f"it('{name}', function() n = n + 1 count = count + 1 assert.same({{1, 1}}, {{n, count}}) end)\n"
        for name in "abc"
    )
    found = results(tmp_path, text)
    assert [each.message for each in found] == ["", "", ""]


def test_checks_of_the_authors_own(tmp_path: Path) -> None:
    found = results(
        tmp_path,
        """
        local assert, say = require('luassert'), require('say')
        say:set('even.positive', 'Expected an even number: %s')
        assert:register('assertion', 'is_even', function(state, a) return a[1] % 2 == 0 end, 'even.positive', 'odd')
        it('holds', function() assert.is_even(2) assert.is_not.is_even(3) end)
        it('fails', function() assert.is_even(3) end)
        """,
    )
    assert [each.message for each in found] == ["", "tests/a.lua:6: Expected an even number: 3"]


def test_a_broken_helper_is_an_error_of_the_file_that_requires_it(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "helper.lua").write_text("end -- é")
    (tmp_path / "tests" / "b.lua").write_text("require 'tests.helper'")
    found = results(tmp_path, "it('a', function() end)")
    assert [(each.test.name, each.message) for each in found] == [
        ("a", ""),
        ("tests/b.lua", "tests/helper.lua:1: '<eof>' expected near 'end'"),
        ("tests/helper.lua", "tests/helper.lua:1: '<eof>' expected near 'end'"),
    ]
