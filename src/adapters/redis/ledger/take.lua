-- ARGV[2]: the lease's name. A lease of each budget, or of none.
local function refusal()
  local paused = get('paused') or 0
  if paused > now then return paused - now, 'backoff' end
  if terms.quota ~= nil and quotaUsed() >= terms.quota.requests then
    local shortest = longest
    for _, rate in ipairs(terms.rates) do shortest = math.min(shortest, rate.perMs) end
    return shortest, 'quota'
  end
  local cold = coldMs()
  if cold > 0 then return cold, 'ledger' end
  local untilMs, taken = now, get('taken')
  for _, rate in ipairs(terms.rates) do
    local cap, window = capOf(rate), rate.perMs * MARGIN
    -- Other replicas' reserves may leave nothing.
    if cap < 1 then return window, 'budget' end
    if taken ~= nil then untilMs = math.max(untilMs, taken + rate.perMs / cap) end
    -- A request in flight may be settled now, and is then held for a whole window.
    local latest = redis.call('ZREVRANGE', LEASES, cap - 1, cap - 1, 'WITHSCORES')[2]
    if latest then untilMs = math.max(untilMs, math.min(tonumber(latest) + window, now + window)) end
  end
  if untilMs > now then return untilMs - now, 'budget' end
end

local function grant()
  -- Timers wake late: what was due meanwhile may catch up.
  local gap, taken = 0, get('taken')
  for _, rate in ipairs(terms.rates) do gap = math.max(gap, rate.perMs / rate.cap) end
  set('taken', taken == nil and now or math.max(taken + gap, now - PACE_BURST))
  set('latest', now)
  redis.call('ZADD', LEASES, num(now + terms.holdMs + CLOCK_STEP), ARGV[2])
  if terms.quota ~= nil then count(now, 1) end
end

local waits, isFree = {}, true
for index = 1, #budgets do
  choose(index)
  begin(false)
  dropEnded()
  local wait, cause = refusal()
  waits[index] = { num(wait or 0), cause or 'free' }
  isFree = isFree and wait == nil
end

local answers = {}
for index = 1, #budgets do
  choose(index)
  if isFree then grant() end
  answers[index] = answer(unpack(waits[index]))
end
return answers
