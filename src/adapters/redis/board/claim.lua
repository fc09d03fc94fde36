if not isAlive(session) or opensIn > 0 and not ask.retakes then return '{}' end
local process = processOf(session)
-- A former session of the same process no longer polls: the process knows that itself.
local function isFree(name)
  local holder = redis.call('HGET', holders, name)
  return not holder or holder == session or string.sub(holder, 1, 1) == '@' or processOf(holder) == process
    or not isAlive(holder)
end
-- A request of a former holder may still count. It sent nothing before `earliest`, and nothing after its session;
-- where it was handed over in order, `earliest` is when nothing of it counts any more.
local function startOf(budget, holder)
  local written = redis.call('HGET', starts, 'b:' .. budget.budget)
  local was = written and cjson.decode(written)
  local cold = budget.coldMs
  if not was then return at + cold, at end
  local earliest, sent = was.earliest, was.sent
  if holder and holder ~= session and string.sub(holder, 1, 1) ~= '@' then
    local last = math.min(endOf(holder) or at, at)
    if last > earliest then earliest, sent = last + was.cold, last end
  end
  if was.terms ~= budget.terms then earliest = math.max(earliest, sent + cold) end
  return earliest, sent
end
local claimed = {}
for _, group in ipairs(ask.groups) do
  local isWhole = true
  for _, name in ipairs(group.names) do isWhole = isWhole and isFree(name) end
  if isWhole then
    local waits = {}
    for _, budget in ipairs(group.budgets) do
      local name = 'b:' .. budget.budget
      local earliest, sent = startOf(budget, redis.call('HGET', holders, name))
      if ask.retakes then earliest, sent = at + budget.waitMs, at end
      waits[name] = math.max(0, earliest - at)
      redis.call('HSET', starts, name, cjson.encode({
        earliest = earliest, sent = sent, cold = budget.coldMs, terms = budget.terms,
      }))
    end
    for _, name in ipairs(group.names) do
      local holder = redis.call('HGET', holders, name)
      local unheld
      if holder and string.sub(holder, 1, 1) == '@' then
        unheld = at - tonumber(string.sub(holder, 2))
        -- Longer ago, it had more likely left the config than been missed by anybody.
        if unheld > DAY then unheld = nil end
      elseif holder and holder ~= session then
        -- It may have polled until its last beat.
        local ends = endOf(holder)
        if ends then unheld = math.max(0, at - (ends - ttl)) end
      elseif holder then
        unheld = 0
      end
      if holder ~= session then set(name, session) end
      local stamp, text = string.match(redis.call('HGET', records, name) or '', '^(%S+) (.*)$')
      claimed[#claimed + 1] = {
        name = name, unheldMs = unheld, waitMs = waits[name] or 0,
        record = stamp and {text = text, agoMs = math.max(0, at - tonumber(stamp))} or nil,
      }
    end
  end
end
return cjson.encode({claimed = claimed})
