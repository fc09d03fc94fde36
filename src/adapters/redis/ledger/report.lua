-- ARGV[2]: what happened, as JSON: settled leases and signals of the upstream, each with how long ago.
begin(false)

local function settle(settled)
  if settled.settlement == 'unsent' then
    if redis.call('ZREM', LEASES, settled.lease) == 1 then
      free()
      if terms.quota ~= nil then count(now - settled.agoMs - settled.heldMs, -1) end
    end
  else
    local linger = settled.settlement == 'unanswered' and terms.lingerMs or 0
    redis.call('ZADD', LEASES, num(now - settled.agoMs + linger + CLOCK_STEP), settled.lease)
    dropEnded()
    if settled.agoMs > LATE then free() end
  end
  set('latest', now)
end

local function pause(at, forMs)
  set('paused', math.max(get('paused') or 0, at + math.min(forMs, terms.maxPauseMs)))
end

-- An answer during a pause belongs to the burst that caused it: it neither doubles the pause nor ends the count.
-- Nor does one that is older than another that was counted.
local function countRefusal(signals, at)
  if at < math.max(get('paused') or 0, get('heard') or 0) then return end
  set('heard', at)
  local refusals = get('refusals') or 0
  if not signals.isThrottled then
    set('refusals', 0)
  elseif signals.pauseMs <= 0 then
    pause(at, longest * 2 ^ refusals)
    set('refusals', math.min(refusals + 1, MOST_DOUBLINGS))
  end
end

local function lower(per, requests, untilMs)
  if untilMs <= now then return end
  local kept, isKnown = {}, false
  for _, entry in ipairs(lowered(per)) do
    if now < entry.untilMs then
      isKnown = isKnown or entry.requests <= requests and entry.untilMs >= untilMs
      if entry.requests < requests or entry.untilMs > untilMs then kept[#kept + 1] = entry end
    end
  end
  if isKnown then return end
  local at = 1
  while kept[at] and kept[at].requests < requests do at = at + 1 end
  table.insert(kept, at, { requests = requests, untilMs = untilMs })
  if #kept > MOST_LIMITS then kept[MOST_LIMITS].untilMs = table.remove(kept).untilMs end
  setLowered(per, kept)
end

-- What was said before what stands, and comes late, only tightens.
local function heed(signals, at)
  if signals.pauseMs > 0 then pause(at, signals.pauseMs) end
  countRefusal(signals, at)
  for _, limit in ipairs(signals.lowered) do lower(limit.perMs, limit.requests, at + limit.perMs) end
  if signals.advertised ~= nil and at >= (get('advertisedAt') or 0) then
    set('advertisedAt', at)
    set('limit', signals.advertised.limit or '')
    set('remaining', signals.advertised.remaining or '')
  end
  if signals.yieldMs ~= nil and at >= (get('yieldAt') or 0) then
    set('yieldAt', at)
    set('yield', signals.yieldMs > 0 and at + signals.yieldMs or 0)
  end
end

-- By the operator's word. Late, it could end another pause.
local function resume()
  set('paused', 0)
  set('refusals', 0)
  set('yield', 0)
end

for _, message in ipairs(cjson.decode(ARGV[2])) do
  if message.kind == 'settled' then
    settle(message)
  elseif message.kind == 'signalled' then
    heed(message.signals, now - message.agoMs)
  elseif message.agoMs <= LATE then
    resume()
  end
end
return answer()
