-- Coverage of lines: how often each line of a file ran, and the lines that can run at all. Used only where asked for.
--
-- LuaJIT has one hook for a state and all its coroutines: the budget's hook passes the lines on.
local budget = ...

local funcinfo, funcbc, funck = require("jit.util").funcinfo, require("jit.util").funcbc, require("jit.util").funck
local getinfo, byte, sub = debug.getinfo, string.byte, string.sub
local next, setmetatable, type = next, setmetatable, type
local band, rshift = bit.band, bit.rshift

local OWN = "@[labkit]/"
local counts = {} -- by the name of a chunk: by line
local known = setmetatable({}, { __mode = "k" }) -- by function: the counts of its chunk, false if it is none of a file

local function find(f)
  local name = getinfo(f, "S").source
  local found = false
  if byte(name, 1) == 64 and sub(name, 1, #OWN) ~= OWN then -- @, of a file
    found = counts[name] or {}
    counts[name] = found
  end
  known[f] = found
  return found
end

local coverage = {}

function coverage.begin()
  budget.cover(function(f, line)
    local found = known[f]
    if found == nil then found = find(f) end
    if found then found[line] = (found[line] or 0) + 1 end
  end)
end

-- A list with the name of each chunk, and a list of a line and its count, another line …
function coverage.counts()
  local all = {}
  for name, lines in next, counts do
    local flat = {}
    for line, count in next, lines do
      flat[#flat + 1] = line
      flat[#flat + 1] = count
    end
    all[#all + 1] = { sub(name, 2), flat }
  end
  return all
end

-- ---- the lines that can run: those of the instructions that can be reached

local NAMES = "ISLT ISGE ISLE ISGT ISEQV ISNEV ISEQS ISNES ISEQN ISNEN ISEQP ISNEP ISTC ISFC IST ISF ISTYPE ISNUM MOV NOT "
  .. "UNM LEN ADDVN SUBVN MULVN DIVVN MODVN ADDNV SUBNV MULNV DIVNV MODNV ADDVV SUBVV MULVV DIVVV MODVV POW CAT KSTR "
  .. "KCDATA KSHORT KNUM KPRI KNIL UGET USETV USETS USETN USETP UCLO FNEW TNEW TDUP GGET GSET TGETV TGETS TGETB TGETR "
  .. "TSETV TSETS TSETB TSETM TSETR CALLM CALL CALLMT CALLT ITERC ITERN VARG ISNEXT RETM RET RET0 RET1 FORI JFORI FORL "
  .. "IFORL JFORL ITERL IITERL JITERL LOOP ILOOP JLOOP JMP"
local OP, number = {}, 0
for name in NAMES:gmatch("%w+") do
  OP[name], number = number, number + 1
end
local ENDS = { [OP.CALLMT] = true, [OP.CALLT] = true, [OP.RETM] = true, [OP.RET] = true, [OP.RET0] = true, [OP.RET1] = true }
local JUMPS = { [OP.JMP] = true, [OP.UCLO] = true, [OP.ISNEXT] = true } -- always
local BRANCHES = { [OP.FORI] = true, [OP.FORL] = true, [OP.ITERL] = true } -- or go on

local visit

-- Add the instructions that may follow one to a list.
local function follow(todo, pc, ins)
  local op = band(ins, 0xff)
  if ENDS[op] then return end
  if JUMPS[op] or BRANCHES[op] then todo[#todo + 1] = pc + rshift(ins, 16) - 0x7fff end
  if JUMPS[op] then return end
  todo[#todo + 1] = pc + 1
  if op <= OP.ISF then todo[#todo + 1] = pc + 2 end -- a comparison skips the jump behind it
end

visit = function(proto, lines)
  local seen, todo = {}, { 1 }
  while #todo > 0 do
    local pc = todo[#todo]
    todo[#todo] = nil
    if not seen[pc] then
      seen[pc] = true
      local ins = funcbc(proto, pc)
      lines[funcinfo(proto, pc).currentline] = true
      if band(ins, 0xff) == OP.FNEW then visit(funck(proto, -rshift(ins, 16) - 1), lines) end
      follow(todo, pc, ins)
    end
  end
end

-- The lines that can run in the function that a chunk returns, without those of the chunk.
function coverage.lines(chunk)
  local lines, list = {}, {}
  for i = -1, -funcinfo(chunk).gcconsts, -1 do
    local inner = funck(chunk, i)
    if type(inner) == "proto" then visit(inner, lines) end
  end
  for line in next, lines do list[#list + 1] = line end
  return list
end

return coverage
