-- ARGV[2]: orders, as JSON. ARGV[3]: how long ago they were given.
begin(false)
local orders, at = cjson.decode(ARGV[2]), now - tonumber(ARGV[3])

local function pause(forMs)
  set('paused', math.max(get('paused') or 0, at + math.min(forMs, terms.maxPauseMs)))
end

if orders.pauseMs > 0 then pause(orders.pauseMs) end
-- What arrives during a pause belongs to the burst that caused it: it neither doubles it nor ends the count.
if now >= (get('paused') or 0) then
  local refusals = get('refusals') or 0
  if not orders.isThrottled then
    set('refusals', 0)
  elseif orders.pauseMs <= 0 then
    pause(longest * 2 ^ refusals)
    set('refusals', math.min(refusals + 1, MOST_DOUBLINGS))
  end
end

for _, order in ipairs(orders.lowered) do
  local kept, requests = {}, order.requests
  for _, entry in ipairs(lowered(order.perMs)) do
    if now < entry.untilMs and entry.requests < order.requests then
      if #kept < MOST_STANDING - 1 then kept[#kept + 1] = entry
      elseif requests == order.requests then requests = entry.requests end
    end
  end
  kept[#kept + 1] = { requests = requests, untilMs = at + order.perMs }
  setLowered(order.perMs, kept)
end

if orders.advertised ~= nil then
  set('limit', orders.advertised.limit or '')
  set('remaining', orders.advertised.remaining or '')
end
if orders.yieldMs ~= nil then set('yield', orders.yieldMs > 0 and at + orders.yieldMs or 0) end
return standing()
