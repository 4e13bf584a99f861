-- The words in which tests are written: describe, it, pending, before_each, after_each, setup, teardown, finally.
local parts = labkit_parts
local place, fail, describe_error, shown = parts.place, parts.fail, parts.describe_error, parts.shown

local root = { name = nil, before_each = {}, after_each = {}, setup = {}, teardown = {} }
local tests, block = {}, root
local at_end -- functions that the running test gave to `finally`
local running = false
local PENDING = {} -- raised by a test that is not ready

local function expect(word, kind, value, example)
  if type(value) ~= kind then fail(word .. " expects a " .. (kind == "string" and "name" or kind) .. ", not " .. shown(value) .. ": " .. example) end
end

local function expect_beside(word)
  if running then fail(word .. ": belongs beside tests: a test cannot add to them") end
end

local function describe_as(word)
  return function(name, body)
    expect_beside(word)
    local example = word .. "('name', function() … end)"
    expect(word, "string", name, example)
    expect(word, "function", body, example)
    block = { name = name, parent = block, before_each = {}, after_each = {}, setup = {}, teardown = {} }
    body()
    block = block.parent
  end
end

local function full_name(name)
  local names, at = { name }, block
  while at and at.name do
    table.insert(names, 1, at.name)
    at = at.parent
  end
  return table.concat(names, " ")
end

local function add(name, body, is_pending)
  tests[#tests + 1] = { name = full_name(name), body = body, block = block, pending = is_pending, place = place() }
end

local function it_as(word)
  return function(name, body)
    expect_beside(word)
    local example = word .. "('name', function() … end)"
    expect(word, "string", name, example)
    if body ~= nil then expect(word, "function", body, example) end
    add(name, body, body == nil)
  end
end

-- Within a test: end it as pending, with a reason. Elsewhere: a test that is not written yet.
function pending(name)
  if running then error({ [PENDING] = name == nil and "" or tostring(name) }, 0) end
  expect("pending", "string", name, "pending('name')")
  add(name, nil, true)
end

local function around(word, list)
  _G[word] = function(body)
    expect_beside(word)
    expect(word, "function", body, word .. "(function() … end)")
    table.insert(block[list], body)
  end
end

function finally(body)
  if not running then fail("finally belongs into a test") end
  expect("finally", "function", body, "finally(function() … end)")
  table.insert(at_end, body)
end

for _, word in ipairs({ "describe", "context", "insulate", "expose" }) do _G[word] = describe_as(word) end
for _, word in ipairs({ "it", "test", "spec" }) do _G[word] = it_as(word) end
for _, word in ipairs({ "before_each", "after_each", "setup", "teardown" }) do around(word, word) end
for _, when in ipairs({ "lazy", "strict" }) do
  around(when .. "_setup", "setup")
  around(when .. "_teardown", "teardown")
end
randomize = function() end

function labkit_listed()
  local listed = {}
  for number, each in ipairs(tests) do
    listed[number] = { name = each.name, place = each.place, pending = each.pending }
  end
  return listed
end

-- The text of an error with a place: that of the test if it has none, as of one that a tail call has lost.
local function located(problem, test)
  local text = describe_error(problem)
  return text:find("^[^\n]-:%d+: ") and text or test.place .. ": " .. text
end

-- Run functions until one raises; return its error as text, or a table of a pending test.
local function attempt(functions, test)
  for _, each in ipairs(functions) do
    local ok, problem = pcall(each)
    if not ok then
      if type(problem) == "table" and problem[PENDING] then return problem end
      if problem == "not enough memory" then error(problem, 0) end -- which ends the run with the text of the limit
      return located(problem, test)
    end
  end
end

local function chain(at)
  local blocks = {}
  while at do
    table.insert(blocks, 1, at)
    at = at.parent
  end
  return blocks
end

-- Run a test with the functions around it: setup and before_each from the outermost block to the innermost, the test,
-- what it gave to finally, after_each and teardown from the innermost to the outermost, which run after an error, too.
function labkit_run(number)
  local each = tests[number]
  if each.pending then return { status = "pending", message = "" } end
  local blocks, before, after = chain(each.block), {}, {}
  for _, one in ipairs(blocks) do
    for _, f in ipairs(one.setup) do before[#before + 1] = f end
  end
  for i, one in ipairs(blocks) do
    for _, f in ipairs(one.before_each) do before[#before + 1] = f end
    for _, f in ipairs(blocks[#blocks + 1 - i].after_each) do after[#after + 1] = f end
  end
  for i = #blocks, 1, -1 do
    for _, f in ipairs(blocks[i].teardown) do after[#after + 1] = f end
  end
  at_end, running = {}, true
  before[#before + 1] = each.body
  local problem = attempt(before, each)
  for _, functions in ipairs({ at_end, after }) do
    for _, f in ipairs(functions) do
      local later = attempt({ f }, each)
      if type(problem) ~= "string" then problem = later or problem end -- the first error counts
    end
  end
  running = false
  if problem == nil then return { status = "passed", message = "" } end
  if type(problem) == "table" then return { status = "pending", message = problem[PENDING] } end
  return { status = "failed", message = problem }
end
