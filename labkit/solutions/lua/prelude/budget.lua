-- What a running script may use: CPU between two service calls, and memory. Everything here runs beside the
-- script's own code. A run that goes long leaves the event loop to others now and then.
--
-- A count hook looks every few instructions. One instruction on a long text (`..`, a number read from it) or a large
-- table (that grows) costs up to a millisecond per MiB, so the hook comes more often where there are some. Once a limit
-- is hit, the hook raises at every instruction, so that no pcall, handler or coroutine keeps the script alive.
local set_limit, thread_cpu, clock, pause, cpu_seconds, cpu_setting, memory_bytes, call_bytes = ...

local sethook, running, collect = debug.sethook, coroutine.running, collectgarbage
local getinfo = debug.getinfo
local error, floor, pcall, traceback, type = error, math.floor, pcall, debug.traceback, type

local MIB = 1024 * 1024
local RARE, LEAST = 400, 20  -- instructions between two looks, at most and at least; in between so many ...
local SLOW = 400 * MIB       -- ... that they times the bytes of the longest thing there may be are this
local SMALL = MIB / 4        -- nothing is taken to be shorter than this
local SHARED = 16            -- of many small things together, so much is taken to be one thing
local BULK = 1024            -- KiB gained that the collector has to be told about
local MUCH = 8 * 1024        -- KiB gained between two looks that call for more of them
local NOTICEABLE = 256       -- ... or for a closer one
local LONG, SHORT = 0.02, 0.005 -- seconds that a run keeps the loop: at first, and once it went long
local FIRST = 0.001            -- seconds of a slice that count as CPU whatever they were
local CHARGE = 1e6             -- units (about 2 ns each) of native work between two readings of the clock

local code = 0             -- bytes in use that are no data of scripts
local longest = SMALL      -- bytes: the most that was gained between two looks, so what a text or table may take
local interval, rarest = RARE, RARE -- instructions between two looks, and the most that is good for the script that runs
local least, most = 0, 0   -- KiB in use that call for nothing
local owed = 0             -- units of native work since the clock was last read
local started, deadline    -- thread CPU at the beginning, once it was read; what the clock says when it is worth reading
local since, share         -- thread CPU when the run last got the loop; how long it may keep it
local stopped, reason      -- the limit that was hit, and the text for people ...
local where                -- ... with the place in the script
local look
local mask = ""            -- of the hook: "l" where lines are counted

local function every(instructions)
  interval = instructions
  sethook(look, mask, instructions)
end

-- The texts are ready beforehand: making one would fail when memory is short.
local CPU = "CPU limit: more than " .. cpu_seconds .. " s between two service calls" .. cpu_setting
local ENDED = "the run was ended"

local function raise()
  if running() then error(reason, 0) end -- otherwise the driver
end

local function stop(limit, text)
  local ok, place = pcall(traceback, "", 2)
  stopped, reason, where = limit, text, ok and place
  interval = 1
  sethook(raise, "", 1)
  error(text, 0)
end

-- Leave the event loop to others: it takes as long as they take.
local function leave()
  local away = pause()
  if away < 0 then stop("ended", ENDED) end
  started, since, share = started + away, thread_cpu(), SHORT
end

-- The clock runs at least as fast as that of this thread's CPU, so it says when this one, which is dearer by far, is
-- worth reading. Most slices end before that: their CPU is never read, unless something in them takes long (at_once, or
-- where one instruction may).
local function read_clock(at_once)
  owed = 0
  if deadline and (started or not at_once) and clock() <= deadline then return end
  if not running() then return end -- the driver, not a script
  if not deadline and not at_once and interval == RARE then
    deadline = clock() + FIRST
    return
  end
  local used = thread_cpu()
  if not started then
    since, share = used - FIRST, LONG
    started = since -- at last: the hook may come here while `charge` is here
  end
  if used - started >= cpu_seconds then stop("cpu", CPU) end
  if used - since >= share then
    leave()
    used = since
  end
  local left, kept = started + cpu_seconds - used, since + share - used
  deadline = clock() + (left < kept and left or kept)
end

-- What is in use calls for nothing while it stays near `used`.
local function expect(used)
  least, most = used / 1024 - NOTICEABLE, used / 1024 + NOTICEABLE
end

local function look_often_enough(used)
  local data = used - code
  if longest > data then longest = data > SMALL and data or SMALL end
  local long = data / SHARED > longest and data / SHARED or longest
  local wanted = floor(SLOW / long)
  wanted = wanted < LEAST and LEAST or wanted > rarest and rarest or wanted
  if wanted ~= interval then every(wanted) end
end

local function look_at_memory(used)
  local gained = used / 1024 - most + NOTICEABLE -- KiB
  if gained * 1024 > longest then longest = gained * 1024 end
  if gained > MUCH then
    rarest = floor(interval * MUCH / gained)
    rarest = rarest < LEAST and LEAST or rarest
  end
  if gained > BULK then -- the collector does little for each allocation, however large
    collect("step", floor(gained))
    used = collect("count") * 1024
  end
  expect(used)
  look_often_enough(used)
end

local function look_closely()
  if not running() then return end -- the driver, not a script
  if stopped then error(reason, 0) end
  look_at_memory(collect("count") * 1024)
  read_clock()
end

look = function()
  local used = collect("count")
  if used < least or used > most then return look_closely() end
  read_clock()
end

local budget = { stop = stop }

-- A slice begins: from here to the next service call.
function budget.begin()
  stopped, reason, started, deadline = nil, nil, nil, nil
  rarest = RARE
  if interval == 1 then every(RARE) end
  expect(collect("count") * 1024)
end

-- The limit that ended the slice, its text and the traceback; nil if none did.
function budget.stopped()
  return stopped, reason, where
end

-- CPU seconds of the slice; nil if it was too short to be read.
function budget.spent()
  return started and thread_cpu() - started
end

-- Bytes that a value from Python may have: it arrives outside of a protected call.
function budget.room()
  return memory_bytes - call_bytes - collect("count") * 1024
end

function budget.lift()
  set_limit(0)
end

function budget.restore()
  set_limit(memory_bytes, true)
end

-- Look closely where an error was caught. One from Python, such as an interrupt, is not the script's to catch.
function budget.look(problem)
  if type(problem) == "userdata" then error(problem, 0) end
  look_closely()
end

local function caught(ok, ...)
  if ok then return true, ... end
  budget.look((...))
  return false, ...
end

-- pcall for everything that runs code of scripts. At the end of the stack the hook finds no room and fails with "stack
-- overflow", which a script could catch, and go there again. So there is a look wherever an error is caught; where that
-- finds no room either, its error goes on to the next place.
function budget.pcall(...)
  return caught(pcall(...))
end

-- Native work of about `units` times 2 ns is about to be done, unseen by the hook.
function budget.charge(units)
  owed = owed + units
  if owed > CHARGE and running() then
    if stopped then error(reason, 0) end
    read_clock(true)
  end
end

-- Something of so many bytes is about to be made, with so many copies on the way.
function budget.reserve(bytes, copies)
  look_closely()
  local used = collect("count") * 1024
  most = (used + bytes * copies) / 1024 + NOTICEABLE -- that they are gained says nothing about how long anything is
  if bytes > longest then
    longest = bytes
    look_often_enough(used + bytes * copies)
  end
end

-- Source of so many bytes was loaded, or given up (less than 0): code is no data that could slow an instruction down.
function budget.loaded(bytes)
  code = code + 10 * bytes
end

-- Call `record` with each line that runs, and its function, beside all other looks.
function budget.cover(record)
  local count = look
  mask = "l"
  look = function(event, line)
    if event == "line" then return record(getinfo(2, "f").func, line) end
    count()
  end
  if interval ~= 1 then every(interval) end
end

-- The prelude is complete.
function budget.ready()
  collect("setpause", 150) -- an allocation that fails does not collect garbage, so that starts early
  collect("setstepmul", 400)
  code = collect("count") * 1024
  every(RARE)
end

return budget
