-- os, on lab time. The platform runs in UTC.
local now, environment, began = ...

local date = os.date
local error, floor, sub, tonumber, type = error, math.floor, string.sub, tonumber, type

local LONGEST = 1000 -- characters of a format
local FARTHEST = 2 ^ 55

local library = {}

-- Days from 1970-01-01 to the first day of a month, which may lie outside of 1..12 (Howard Hinnant's
-- days_from_civil).
local function days(year, month)
  year = year + floor((month - 1) / 12)
  month = (month - 1) % 12 + 1
  if month <= 2 then year = year - 1 end
  local era = floor(year / 400)
  local of_era = year - era * 400
  local of_year = floor((153 * (month + (month > 2 and -3 or 9)) + 2) / 5)
  return era * 146097 + of_era * 365 + floor(of_era / 4) - floor(of_era / 100) + of_year - 719468
end

local function field(t, name, default)
  local value = tonumber(t[name]) or default
  if not value then error("field '" .. name .. "' missing in date table", 3) end
  return floor(value)
end

function library.time(t)
  if t == nil then return floor(now()) end
  if type(t) ~= "table" then error("bad argument #1 to 'time' (table expected, got " .. type(t) .. ")", 2) end
  local day = days(field(t, "year"), field(t, "month")) + field(t, "day") - 1
  local hour = field(t, "hour", 12) - (t.isdst and 1 or 0) -- a time that says it is one of summer
  return ((day * 24 + hour) * 60 + field(t, "min", 0)) * 60 + field(t, "sec", 0)
end

function library.date(format, time)
  format = format == nil and "%c" or format
  time = time == nil and now() or tonumber(time)
  if type(format) ~= "string" or not time then return date(format, time or {}) end -- complains
  if #format > LONGEST then error("bad argument #1 to 'date' (too long)", 2) end
  if sub(format, 1, 1) == "!" then format = sub(format, 2) end
  if not (time > -FARTHEST and time < FARTHEST) then return nil end
  return date("!" .. format, floor(time))
end

function library.clock()
  return now() - began
end

function library.difftime(later, earlier)
  return later - (earlier or 0)
end

function library.getenv(name)
  return environment[name]
end

return library
