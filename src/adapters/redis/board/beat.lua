local ends = endOf(session)
local answered = ask.answeredAgoMs or -1
-- A session whose holder has stopped by its own clock is over now: whoever waits for its end need not wait longer.
if answered > ttl * TRUSTED and ends then
  redis.call('ZADD', sessions, num(math.min(ends, at)), session)
  ends = at
end
if ends and ends <= at or not ends and answered >= 0 then return cjson.encode({isLost = true}) end
local member = redis.call('HGET', members, session)
local proven = member and tonumber(string.match(member, '^(%S+)')) or -1
-- Each of its last lives that ended without a word makes it wait longer for its part: by its next death it would take
-- all of that with it.
if proven < 0 and answered >= 0 then
  proven = at
  for _, other in ipairs(redis.call('ZRANGEBYSCORE', sessions, num(at - LIVES * ttl), num(at))) do
    if nameOf(other) == nameOf(session) and processOf(other) ~= processOf(session) then proven = proven + ttl end
  end
end
redis.call('ZADD', sessions, num(at + ttl), session)
redis.call('HSET', members, session, num(proven) .. ' ' .. ask.info)
for _, old in ipairs(redis.call('ZRANGEBYSCORE', sessions, '-inf', num(at - DAY))) do
  redis.call('ZREM', sessions, old)
  redis.call('HDEL', members, old)
end
local live = {}
local found = redis.call('ZRANGEBYSCORE', sessions, '(' .. num(at), '+inf', 'WITHSCORES')
for index = 1, #found, 2 do
  local since, info = string.match(redis.call('HGET', members, found[index]), '^(%S+) (.*)$')
  since = tonumber(since)
  live[#live + 1] = {
    session = found[index], endsInMs = tonumber(found[index + 1]) - at, info = info,
    provenMs = since >= 0 and math.max(0, at - since) or nil,
  }
end
local paused = {}
for name, ends in pairs(fields(pauses)) do
  local left = tonumber(ends) - at
  if left > 0 then paused[#paused + 1] = {name, left} else redis.call('HDEL', pauses, name) end
end
local version = memory .. ' ' .. (redis.call('HGET', clock, 'version') or '0')
local held
if version ~= ask.version then
  held = {}
  for name, holder in pairs(fields(holders)) do
    if string.sub(holder, 1, 1) ~= '@' then held[#held + 1] = {name, holder} end
  end
end

-- The parts of `everywhere`. By name: sizes, until when each is its own, and the process that has the second.
local granted
local wants = ask.wants
if wants then
  local own, taken, orphaned, others, isMixed, name = nil, 0, 0, 0, false, nameOf(session)
  local function hasSize(part)
    return math.abs(part.seat - wants.seat) + math.abs(part.rest - wants.rest) < 0.000000001
  end
  for other, text in pairs(fields(parts)) do
    local part = cjson.decode(text)
    local counts = math.max(part.seatUntil, part.restUntil) + wants.forgottenMs > at
    if counts and not hasSize(part) then isMixed = true end
    if other == name then own = part
    elseif math.max(part.seatUntil, part.restUntil) < at - DAY then redis.call('HDEL', parts, other)
    else
      if part.seatUntil > at then taken = taken + part.seat end
      if part.restUntil > at then taken, others = taken + part.rest, others + 1
      elseif part.seatUntil > at then orphaned = orphaned + part.rest end
    end
  end
  local process = processOf(session)
  local isOthers = own and own.process ~= process and own.restUntil > at
  own = own or {seat = wants.seat, rest = wants.rest, seatUntil = 0, restUntil = 0, process = '', grants = -1}
  local isMine = hasSize(own) and own.process == process
  -- Nobody was given anything since: then nobody else can have used it, however long ago it was.
  local grants = tonumber(redis.call('HGET', clock, 'grants') or '0')
  local isUntouched = own.grants == grants
  local hadSeat = isMine and own.seatUntil > 0 and (own.seatUntil > at or isUntouched) or wants.has.seat > 0
  local hadRest = isMine and own.restUntil > 0 and (own.restUntil > at or isUntouched) or wants.has.rest > 0
  local room = 1.000000001 - taken
  local isOpen = opensIn <= 0 and not isOthers
  local kept = hadSeat and wants.seat or 0
  local rest = (hadRest or isOpen and room - kept >= wants.rest) and wants.rest or 0
  -- Seats of those that are gone are kept for a day. Before anybody has another one, everybody has the larger part.
  local missing = math.max(0, math.floor(1 / (wants.seat + wants.rest) + 0.5) - others - 1) * wants.rest
  local seat = (hadSeat or isOpen and rest > 0 and room - rest - missing >= wants.seat) and wants.seat or 0
  local isAnew = (seat > 0 and not hadSeat) or (rest > 0 and not hadRest)
  -- Of one that goes on from its seat alone, another has the rest: the two begin where one ended.
  if isAnew and room - seat - rest < orphaned then isMixed = true end
  if isAnew then grants = redis.call('HINCRBY', clock, 'grants', 1) end
  if not isOthers then
    redis.call('HSET', parts, name, cjson.encode({
      seat = wants.seat, rest = wants.rest, process = process, grants = grants,
      -- What it loses may still count.
      seatUntil = seat > 0 and at + DAY or math.min(own.seatUntil, at),
      restUntil = rest > 0 and at + ttl or math.min(own.restUntil, at),
    }))
  end
  granted = {seat = seat > 0, rest = rest > 0, isAnew = isAnew, isMixed = isMixed}
end
return cjson.encode({
  wallMs = now, opensInMs = opensIn, version = version, sessions = live,
  holders = held, pauses = paused, granted = granted,
})
