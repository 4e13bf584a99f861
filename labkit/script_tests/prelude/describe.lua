-- The words in which tests are written: describe, it, pending, before_each, after_each, setup, teardown, finally.
local place, describe_error = labkit_place, labkit_describe_error
labkit_describe_error = nil

local root = { name = nil, before_each = {}, after_each = {}, setup = {}, teardown = {} }
local tests, block = {}, root
local at_end -- functions that the running test gave to `finally`
local running = false
local PENDING = {} -- raised by a test that is not ready

local function expect_text(word, name)
  if type(name) ~= "string" then error(word .. " expects a name, not " .. type(name), 3) end
end

local function expect_function(word, body)
  if type(body) ~= "function" then error(word .. " expects a function, not " .. type(body), 3) end
end

function describe(name, body)
  expect_text("describe", name)
  expect_function("describe", body)
  block = { name = name, parent = block, before_each = {}, after_each = {}, setup = {}, teardown = {} }
  body()
  block = block.parent
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

function it(name, body)
  expect_text("it", name)
  if body ~= nil then expect_function("it", body) end
  if running then error("it: a test cannot add a test", 2) end
  add(name, body, body == nil)
end

-- Within a test: end it as pending, with a reason. Elsewhere: a test that is not written yet.
function pending(name)
  if running then error({ [PENDING] = name == nil and "" or tostring(name) }, 0) end
  expect_text("pending", name)
  add(name, nil, true)
end

for _, word in ipairs({ "before_each", "after_each", "setup", "teardown" }) do
  _G[word] = function(body)
    expect_function(word, body)
    table.insert(block[word], body)
  end
end

function finally(body)
  expect_function("finally", body)
  if not running then error("finally belongs into a test", 2) end
  table.insert(at_end, body)
end

context, insulate, expose, test, spec = describe, describe, describe, it, it
lazy_setup, strict_setup, lazy_teardown, strict_teardown = setup, setup, teardown, teardown
randomize = function() end

function labkit_listed()
  local listed = {}
  for number, each in ipairs(tests) do
    listed[number] = { name = each.name, place = each.place, pending = each.pending }
  end
  return listed
end

-- Run functions until one raises; return its error as text, or a table of a pending test.
local function attempt(functions)
  for _, each in ipairs(functions) do
    local ok, problem = pcall(each)
    if not ok then
      if type(problem) == "table" and problem[PENDING] then return problem end
      return describe_error(problem)
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
  local problem = attempt(before)
  for _, functions in ipairs({ at_end, after }) do
    for _, f in ipairs(functions) do
      local later = attempt({ f })
      if type(problem) ~= "string" then problem = later or problem end -- the first error counts
    end
  end
  running = false
  if problem == nil then return { status = "passed", message = "" } end
  if type(problem) == "table" then return { status = "pending", message = problem[PENDING] } end
  return { status = "failed", message = problem }
end
