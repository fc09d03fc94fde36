-- How every script of a shared budget begins, and what it returns. Explained in test/models/shared-budget.ts.
-- KEYS: state, leases, quota, contributed, of each budget. ARGV[1]: the terms of the caller for each, as JSON.

local MARGIN, PACE_BURST, CLOCK_STEP, SET_BACK, HOUR = 1.001, 20, 10, 1000, 3600000
local MOST_LIMITS, MOST_DOUBLINGS = 8, 30
-- Who was told to wait has not lost more than this if a settlement is late by less.
local LATE = 1000
-- What is set aside for a replica is kept for a day after its last call. It is written anew once an hour.
local RESERVE_KEPT, RESERVE_RENEWED = 86400000, 3600000
-- Long after the last call, nothing in it matters any more.
local FORGOTTEN_AFTER = 604800000

local budgets = cjson.decode(ARGV[1])
-- Of the chosen budget: everything below is about that one.
local STATE, LEASES, QUOTA, CONTRIBUTED, terms, state, changed, longest, reserves

local function read(index)
  local fields, values = redis.call('HGETALL', KEYS[4 * index - 3]), {}
  for field = 1, #fields, 2 do values[fields[field]] = fields[field + 1] end
  return values
end

local opened = {}
local function choose(index)
  opened[index] = opened[index] or { state = read(index), changed = {}, reserves = {} }
  STATE, LEASES, QUOTA, CONTRIBUTED = unpack(KEYS, 4 * index - 3, 4 * index)
  terms, state, changed = budgets[index], opened[index].state, opened[index].changed
  longest = 0
  for _, rate in ipairs(terms.rates) do longest = math.max(longest, rate.perMs) end
  reserves = opened[index].reserves
end
choose(1)

local function get(name) return tonumber(state[name] or '') end

local function set(name, value)
  local text = type(value) == 'number' and num(value) or value
  if state[name] == text then return end
  state[name] = text
  changed[name] = text
end

local function save()
  local fields = {}
  for name, text in pairs(changed) do
    fields[#fields + 1] = name
    fields[#fields + 1] = text
  end
  if #fields > 0 then redis.call('HSET', STATE, unpack(fields)) end
end

local function lowered(per)
  local list = {}
  for requests, untilMs in string.gmatch(state['lowered:' .. num(per)] or '', '(%S+):(%S+)') do
    list[#list + 1] = { requests = tonumber(requests), untilMs = tonumber(untilMs) }
  end
  return list
end

local function setLowered(per, list)
  local parts = {}
  for _, entry in ipairs(list) do parts[#parts + 1] = num(entry.requests) .. ':' .. num(entry.untilMs) end
  set('lowered:' .. num(per), table.concat(parts, ' '))
end

-- How much of each rate is set aside, by replica: "until, then per:requests of each rate".
local function readReserves()
  for field, text in pairs(state) do
    local name, untilMs = string.match(field, '^reserve:(.*)$'), tonumber(string.match(text, '^%S+') or '')
    if name and untilMs > now then
      reserves[name] = { untilMs = untilMs, rates = {} }
      for per, requests in string.gmatch(text, '(%S+):(%S+)') do
        table.insert(reserves[name].rates, { perMs = tonumber(per), requests = tonumber(requests) })
      end
    elseif name then
      redis.call('HDEL', STATE, field)
    end
  end
end

-- The most that a reserve may send in any window of a length.
local function mostOf(reserve, perMs)
  local most = math.huge
  for _, rate in ipairs(reserve.rates) do
    most = math.min(most, rate.requests * math.ceil(perMs / rate.perMs))
  end
  return most
end

local function setReserve(name, reserve)
  reserves[name] = reserve
  local parts = { num(reserve.untilMs) }
  for _, rate in ipairs(reserve.rates) do parts[#parts + 1] = num(rate.perMs) .. ':' .. num(rate.requests) end
  set('reserve:' .. name, table.concat(parts, ' '))
end

-- A reserve may grow at once, as its replica waits until it is set aside. What it gives back may have been sent.
local function tellReserve()
  local own = { untilMs = now + RESERVE_KEPT + RESERVE_RENEWED, rates = {} }
  local known, isMore, isLess, isAny = reserves[terms.replica], false, false, false
  for _, rate in ipairs(terms.rates) do
    table.insert(own.rates, { perMs = rate.perMs, requests = rate.own })
    isAny = isAny or rate.own > 0
    if known then
      isMore = isMore or rate.own > mostOf(known, rate.perMs)
      isLess = isLess or rate.own < mostOf(known, rate.perMs)
    end
  end
  if known and isLess then
    local untilMs = now + ((longest + terms.holdMs) * MARGIN + CLOCK_STEP)
    if known.untilMs > untilMs then setReserve(terms.replica, { untilMs = untilMs, rates = known.rates }) end
  elseif isAny and (known == nil or isMore or known.untilMs < now + RESERVE_KEPT) then
    setReserve(terms.replica, own)
  end
end

-- If it cannot know what was sent, it starts anew, and refuses until all of that no longer counts.
local function startAnew(isAnew)
  local kept, linger = get('kept') or 0, get('linger') or 0
  local latest = get('latest') or 0
  if not isAnew and state.run == run and now >= latest - SET_BACK and longest <= kept
    and terms.lingerMs <= linger then return end
  set('run', run)
  set('born', now)
  set('latest', now)
  set('kept', math.max(kept, longest))
  set('linger', math.max(linger, terms.lingerMs))
  set('taken', '')
  redis.call('DEL', LEASES)
  if (get('paused') or 0) > now + terms.maxPauseMs then set('paused', now + terms.maxPauseMs) end
  if (get('yield') or 0) > now + terms.maxPauseMs then set('yield', now + terms.maxPauseMs) end
  for _, rate in ipairs(terms.rates) do
    local list = lowered(rate.perMs)
    for _, entry in ipairs(list) do entry.untilMs = math.min(entry.untilMs, now + rate.perMs) end
    if #list > 0 then setLowered(rate.perMs, list) end
  end
  for _, moment in ipairs({ 'heard', 'advertisedAt', 'yieldAt' }) do
    if (get(moment) or 0) > now then set(moment, now) end
  end
end

local function begin(isAnew)
  startAnew(isAnew)
  readReserves()
  tellReserve()
end

-- Replicas of another config may have larger reserves. With one config, they are what is set aside anyhow.
local function capOf(rate)
  local aside = 0
  for _, reserve in pairs(reserves) do aside = aside + mostOf(reserve, rate.perMs) end
  aside = math.max(rate.aside, aside)
  local most = math.max(0, rate.cap + rate.aside - aside)
  for _, entry in ipairs(lowered(rate.perMs)) do
    if now < entry.untilMs then
      local cap = math.max(1, math.floor(entry.requests * terms.share + 1e-9) - aside)
      return math.min(most, cap)
    end
  end
  return most
end

local function coldMs()
  return math.max(0, get('born') + ((longest + terms.holdMs) * MARGIN + CLOCK_STEP) - now)
end

-- The sum is kept until the hour or a count changes.
local function quotaUsed()
  if terms.quota == nil then return 0 end
  local summed = num(math.floor(now / HOUR)) .. '/' .. num(terms.quota.perMs)
  if state.summed == summed then return get('sum') end
  local oldest = math.floor((now - terms.quota.perMs) / HOUR)
  local sum, fields = 0, redis.call('HGETALL', QUOTA)
  for index = 1, #fields, 2 do
    if tonumber(fields[index]) < oldest then redis.call('HDEL', QUOTA, fields[index])
    else sum = sum + tonumber(fields[index + 1]) end
  end
  set('sum', sum)
  set('summed', summed)
  return sum
end

local function count(at, amount)
  local hour = string.format('%.0f', math.floor(at / HOUR))
  local before = tonumber(redis.call('HGET', QUOTA, hour) or '0')
  redis.call('HSET', QUOTA, hour, num(math.max(0, before + amount)))
  set('summed', '')
end

local function free() set('freed', (get('freed') or 0) + 1) end

local function dropEnded()
  redis.call('ZREMRANGEBYSCORE', LEASES, '-inf', num(now - get('kept') * MARGIN))
end

-- Durations from now on; then for each rate the cap, the leases, and what is set aside for the caller.
local function answer(...)
  local quota = quotaUsed()
  local fields = {
    num(now), run .. '-' .. state.born, num(coldMs()),
    num(math.max(0, (get('paused') or 0) - now)), num(math.max(0, (get('yield') or 0) - now)),
    state.limit or '', state.remaining or '', num(quota),
    tostring(redis.call('HEXISTS', CONTRIBUTED, terms.replica)), state.freed or '0', state.refusals or '0',
  }
  local reserve = reserves[terms.replica]
  local isKept = reserve and reserve.untilMs >= now + RESERVE_KEPT
  for _, rate in ipairs(terms.rates) do
    fields[#fields + 1] = num(capOf(rate))
    fields[#fields + 1] = num(redis.call('ZCOUNT', LEASES, '(' .. num(now - rate.perMs * MARGIN), '+inf'))
    fields[#fields + 1] = num(isKept and mostOf(reserve, rate.perMs) or 0)
  end
  for _, more in ipairs({ ... }) do fields[#fields + 1] = more end
  save()
  return fields
end

local function keepForAWhile()
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, FORGOTTEN_AFTER) end
end
