-- ARGV[2]: signals, as JSON. ARGV[3]: how long ago the upstream sent them.
begin(false)
local signals, at = cjson.decode(ARGV[2]), now - tonumber(ARGV[3])

-- By the operator's word.
if signals.isResume then
  set('paused', 0)
  set('refusals', 0)
  set('yield', 0)
  return answer()
end

local function pause(forMs)
  set('paused', math.max(get('paused') or 0, at + math.min(forMs, terms.maxPauseMs)))
end

if signals.pauseMs > 0 then pause(signals.pauseMs) end
-- An answer during a pause belongs to the burst that caused it: it neither doubles the pause nor ends the count.
if now >= (get('paused') or 0) then
  local refusals = get('refusals') or 0
  if not signals.isThrottled then
    set('refusals', 0)
  elseif signals.pauseMs <= 0 then
    pause(longest * 2 ^ refusals)
    set('refusals', math.min(refusals + 1, MOST_DOUBLINGS))
  end
end

for _, limit in ipairs(signals.lowered) do
  local kept, requests = {}, limit.requests
  for _, entry in ipairs(lowered(limit.perMs)) do
    if now < entry.untilMs and entry.requests < limit.requests then
      if #kept < MOST_LIMITS - 1 then kept[#kept + 1] = entry
      elseif requests == limit.requests then requests = entry.requests end
    end
  end
  kept[#kept + 1] = { requests = requests, untilMs = at + limit.perMs }
  setLowered(limit.perMs, kept)
end

if signals.advertised ~= nil then
  set('limit', signals.advertised.limit or '')
  set('remaining', signals.advertised.remaining or '')
end
if signals.yieldMs ~= nil then set('yield', signals.yieldMs > 0 and at + signals.yieldMs or 0) end
return answer()
