-- What a running script may use: CPU between two service calls, and memory. Everything here runs beside the
-- script's own code. A run that goes long leaves the event loop to others now and then.
--
-- A count hook looks every few instructions. One instruction on big data (`..` of long strings, a table that
-- grows) costs up to a millisecond per MiB, so the hook comes more often as the heap grows, and the allocator
-- is never allowed more than `room` ahead of the last look: no single step can take long. Once a limit is
-- hit, the hook raises at every instruction, so that no pcall, handler or coroutine keeps the script alive.
local set_limit, thread_cpu, pause, cpu_seconds, memory_bytes = ...

local sethook, running, clock, collect = debug.sethook, coroutine.running, os.clock, collectgarbage
local error, floor, pcall, traceback = error, math.floor, pcall, debug.traceback

local MIB = 1024 * 1024
local LIGHT = MIB / 4        -- with less data than this no instruction is slow
local RARE, OFTEN = 400, 200 -- instructions between two looks with light data, and the most otherwise ...
local SLOW = 400 * MIB       -- ... where data times instructions is this
local BULKY, LEAST = 24, 20  -- the most while there are long texts, and the least
local MOST_ROOM, MOST_RESERVED = 24 * MIB, 32 * MIB
local LOOKS = 2              -- the clock is read at every so many looks ...
local NOTICEABLE = 32 * 1024 -- ... or when so many bytes were gained or lost since
local LARGE, BULK = 256, 1024 -- KiB gained that the collector has to be told about; that mean long texts
local LONG, SHORT = 0.02, 0.005 -- seconds that a run keeps the loop: at first, and once it went long
local CHARGE = 1e6             -- units (about 2 ns each) of native work between two readings of the clock

local code = 0             -- bytes in use that are no data of scripts
local interval = RARE
local ceiling = 0          -- bytes the allocator may hand out until the next look
local looks = 0            -- until the clock is read again
local least, most = 0, 0   -- KiB in use that call for nothing
local owed = 0             -- units of native work since the clock was last read
local started, deadline    -- thread CPU at the first reading; process CPU when it is worth reading again
local since, share         -- thread CPU when the run last got the loop; how long it may keep it
local hurried, bulky       -- is the collector; are there long texts?
local stopped, reason      -- the limit that was hit, and the text for people ...
local where                -- ... with the place in the script
local look

-- How much may be needed until the next look: a table doubles, long texts are copied a few times.
local function room(used)
  local data = 6 * (used - code)
  return data > MOST_ROOM and MOST_ROOM or data < MIB and MIB or data
end

local function raise_ceiling(bytes)
  ceiling = bytes < memory_bytes and floor(bytes) or memory_bytes
  set_limit(ceiling, true)
end

local function every(instructions)
  interval = instructions
  sethook(look, "", instructions)
end

-- The texts are ready beforehand: making one would fail when memory is short.
local CPU = "CPU limit: more than " .. cpu_seconds .. " s between two service calls (guard.script_cpu)"
local ENDED = "the run was ended"

local function stop(limit, text)
  local ok, place = pcall(traceback, "", 2)
  stopped, reason, where = limit, text, ok and place
  every(1)
  error(text, 0)
end

-- Leave the event loop to others: it takes as long as they take.
local function leave()
  local away = pause()
  if away < 0 then stop("ended", ENDED) end
  started, since, share = started + away, thread_cpu(), SHORT
end

-- os.clock counts all threads of the process, so it only says when the exact and dearer clock of this thread
-- is worth reading.
local function read_clock()
  owed = 0
  if not deadline then
    started = thread_cpu()
    since, share = started, LONG
  elseif clock() > deadline then
    if thread_cpu() - started >= cpu_seconds then stop("cpu", CPU) end
    if thread_cpu() - since >= share then leave() end
  else
    return
  end
  local left, kept = started + cpu_seconds - thread_cpu(), since + share - thread_cpu()
  deadline = clock() + (left < kept and left or kept)
end

-- What is in use calls for nothing while it stays near `used`.
local function expect(used)
  looks = LOOKS
  least, most = (used - NOTICEABLE) / 1024, (used + NOTICEABLE) / 1024
end

-- An allocation that fails does not collect garbage, so the collector starts early, and earlier and faster the fuller
-- it gets.
local function pace(full)
  if full == hurried then return end
  hurried = full
  collect("setpause", full and 110 or 150)
  collect("setstepmul", full and 1000 or 400)
end

local function look_closely()
  if not running() then return end -- the driver, not a script
  if stopped then error(reason, 0) end
  local used = collect("count") * 1024
  bulky = used / 1024 > most + BULK or bulky and used - code > LIGHT
  if used / 1024 > most + LARGE then -- the collector does little for each allocation, however large
    collect("step", floor(used / 1024 - most))
    used = collect("count") * 1024
  end
  local free, ahead = ceiling - used, room(used)
  if free > 2 * ahead or free < ahead and ceiling < memory_bytes then raise_ceiling(used + 1.5 * ahead) end
  expect(used)
  pace(used > memory_bytes / 3)
  local data, wanted = used - code, RARE
  if data > LIGHT then
    wanted = floor(SLOW / data)
    local longest = bulky and BULKY or OFTEN
    wanted = wanted < LEAST and LEAST or wanted > longest and longest or wanted
  end
  if wanted ~= interval then every(wanted) end
  read_clock()
end

look = function()
  looks = looks - 1
  if looks > 0 then
    local used = collect("count")
    if used > least and used < most and not stopped then return end
  end
  look_closely()
end

local budget = { stop = stop }

-- A slice begins: from here to the next service call. Memory is limited from now on; the caller lifts the
-- limit afterwards, since an allocation that fails outside of a protected call would end the process.
function budget.begin()
  stopped, reason, deadline = nil, nil, nil
  if interval == 1 then every(RARE) end
  local used = collect("count") * 1024
  expect(used)
  raise_ceiling(used + 1.5 * room(used))
end

-- The limit that ended the slice, its text and the traceback; nil if none did.
function budget.stopped()
  return stopped, reason, where
end

-- CPU seconds since the slice's first reading; nil if it was too short to be read.
function budget.spent()
  return deadline and thread_cpu() - started
end

function budget.lift()
  set_limit(0)
end

function budget.restore()
  set_limit(ceiling, true)
end

local function caught(ok, ...)
  if ok then return true, ... end
  look_closely()
  return false, ...
end

-- pcall for everything that runs code of scripts. At the end of the stack the hook finds no room and fails with "stack
-- overflow", which a script could catch, and go there again. So there is a look wherever an error is caught; where that
-- finds no room either, its error goes on to the next place.
function budget.pcall(...)
  return caught(pcall(...))
end

-- The same for a coroutine that ended with an error.
budget.look = look_closely

-- Native work of about `units` times 2 ns is about to be done, unseen by the hook.
function budget.charge(units)
  owed = owed + units
  if owed > CHARGE and running() then
    if stopped then error(reason, 0) end
    read_clock()
  end
end

-- Let the next allocation be larger than `room`, for those who know the size beforehand.
function budget.reserve(bytes)
  bulky = true
  look_closely()
  local used = collect("count") * 1024
  bytes = bytes < MOST_RESERVED and bytes or MOST_RESERVED
  raise_ceiling(used + bytes + room(used + bytes))
end

-- Source of so many bytes was loaded, or given up (less than 0): code is no data that could slow an instruction down.
function budget.loaded(bytes)
  code = code + 10 * bytes
end

-- The prelude is complete.
function budget.ready()
  pace(false)
  code = collect("count") * 1024
  every(RARE)
end

return budget
