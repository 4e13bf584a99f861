-- Seconds on a clock that runs at least as fast as the CPU time of a thread: what the hook reads at every other look, so
-- what it takes counts. os.clock asks the kernel; on Linux the time of day is read without it, at half the price.
local clock = os.clock

local LINUX_MONOTONIC = 1

local found, ffi = pcall(require, "ffi")
if not found or jit.os ~= "Linux" or not ffi.abi("64bit") or not ffi.abi("le") then return clock end

-- struct timespec, in halves: whole ones would be objects, which are dear to make.
ffi.cdef([[
typedef struct { uint32_t seconds; int32_t high; int32_t nanoseconds; int32_t none; } labkit_time;
int clock_gettime(int clock, labkit_time *time);
]])
local read, time = ffi.C.clock_gettime, ffi.new("labkit_time")

return function()
  read(LINUX_MONOTONIC, time)
  return time.seconds + time.nanoseconds * 1e-9
end
