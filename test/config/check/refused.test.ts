import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { load } from "../../../src/app/features/sections.ts";

const FIXTURES = join(import.meta.dirname, "../../fixtures/config");
const SECRET = "test-key-that-must-not-be-shown";
const environment = {
  TEST_KEY: SECRET,
  BIG_PORT: "70000",
  QUOTED_URL: '"https://api.example.test"',
  SPACED_URL: "https://api.example.test\n",
};

/** Each of the files there, and every sentence that is said about it: line, column, message. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  "deny-addresses": [
    '1:18: "deny_addresses[0]" must be an address, or a network such as 10.0.0.0/8, received "10.0.0.0/33"',
    '1:33: "deny_addresses[1]" must be an address, or a network such as 10.0.0.0/8, received "metadata.example.test"',
  ],
  "alias-bomb": [
    '1:1: "budgets" is missing: it must be a mapping of names to budgets',
    '1:1: "upstreams" is missing: it must be a list of upstreams, each after a dash (-)',
    '1:1: unknown key "a"',
    "1:32: the file must have at most 100000 values, aliases (*) counted in full",
    '2:1: unknown key "b"',
    '3:1: unknown key "c"',
    '4:1: unknown key "d"',
    '5:1: unknown key "e"',
  ],
  "alias-inside-itself": ["4:5: an alias (*) must not be inside its own anchor"],
  "allowed-host": ['1:23: "web.allowed_hosts" must be a list of host names, received "status.example.test"'],
  "allowed-hosts": [
    `1:45: "web.allowed_hosts[1]" must be a host's name or address without a port, such as pacewatch.example, or * for any, received "https://status.example.test"`,
    `1:76: "web.allowed_hosts[2]" must be a host's name or address without a port, such as pacewatch.example, or * for any, received "status.example.test:443"`,
    `1:103: "web.allowed_hosts[3]" must be a host's name or address without a port, such as pacewatch.example, or * for any, received 5`,
    `1:106: "web.allowed_hosts[4]" must be a host's name or address without a port, such as pacewatch.example, or * for any, received ""`,
  ],
  "allows-nothing": [
    '1:25: budget "api" allows nothing: 20% of 4 in 1m is less than one request: raise share to 25% and poll every 3m',
  ],
  also: [
    '8:5: unknown key "also" in "upstreams[0]": write each path as an upstream of its own, such as - { <<: *first, name: balance, path: /balance } where this one has the anchor &first',
  ],
  vantage: [
    '1:18: "vantage.name" must be a name of at most 64 letters, digits, dots, dashes and underscores, received "the east"',
    '1:34: "vantage.of" must be a whole number from 1 to 100, received 0',
    '1:37: unknown key "share" in "vantage"',
  ],
  "vantage-part": [
    '3:18: budget "small" allows nothing: 20% of 14 in 1m, divided by 3 vantages, is less than one request: raise share to 25% and poll every 3m',
    '4:18: budget "tight" does not fit: its upstreams may ask for 12 requests in 1m (b: 6 × (1 + 1 to confirm)), its cap is 4 (20% of 60, divided by 3 vantages): poll every 30s, or raise share to 60%',
    '7:12: budget "counted" has no room for a poll: the quota is 0, one of 3 equal parts',
    '11:12: budget "paid" has no room for a poll of up to 0.02 EUR: the spend is 0.016666666, one of 3 equal parts',
    '14:12: budget "short" would use up its quota early: its schedules ask for 172800 requests in 30d, the quota is 100000, one of 3 equal parts: poll every 30s, or set on_exhaust: stop',
  ],
  cluster: [
    '2:53: unknown key "cluster" in "fleet.lock.redis": a lock is one key, and needs no cluster: write url or sentinel',
  ],
  "quota-too-small": ['4:12: budget "api" has no room for a poll of up to 0.02 EUR: the spend is 0.01'],
  assertions: [
    '10:19: "upstreams[0].expect.body[0].path" must be a JSON pointer, such as /data/0/id, or "" for the whole body, received "data.id"',
    '11:40: "upstreams[0].expect.body[1]" must have one kind of check, received equals and type: write one entry for each',
    '12:42: "upstreams[0].expect.body[2].max" must be at least min, which is 5, received 1',
    '13:51: "upstreams[0].expect.body[3].max_items" must be at least min_items, which is 2, received 1',
    '14:26: unknown key "length" in "upstreams[0].expect.body[4]"',
    '15:36: "upstreams[0].expect.body[5].one_of" must be a list of at least one value, received an empty list',
    '16:36: "upstreams[0].expect.body[6].equals" must be a text of at most 256 characters, a number, true or false, received a list',
    '17:34: "upstreams[0].expect.body[7].type" must be one of string, number, integer, boolean, array, object, null, received "text"',
    '18:37: "upstreams[0].expect.body[8].matches" must be an expression, received ""',
    '19:36: "upstreams[0].expect.body[9].exists" must be true or false, received "maybe"',
    '20:11: "upstreams[0].expect.body[10]" must have at least one of path, contains, lacks, matches, received none of them',
    '21:19: "upstreams[0].expect.body[11].path" must be a JSON pointer, such as /data/0/id, or "" for the whole body, received "/a~2b"',
    '21:26: "upstreams[0].expect.body[11].equals" must be a text of at most 256 characters, a number, true or false, received nothing',
    '22:34: "upstreams[0].expect.body[12].min" must be a number, received Infinity',
    '24:19: "upstreams[0].expect.headers[0].name" must be a header\'s name, received "x version"',
    '25:38: "upstreams[0].expect.headers[1].equals" must be a text, received 2',
    '26:30: "upstreams[0].expect.headers[2]" must have one kind of check, received exists and contains: write one entry for each',
    '32:37: "upstreams[1].expect.body[0].path" must not be set where json is false',
  ],
  expressions: [
    '4:44: "upstreams[0].expect.body[0].matches" must be an expression that RE2 knows: error parsing regexp: invalid or unsupported Perl syntax: `(?=`',
    '4:76: "upstreams[0].expect.body[1].matches" must be an expression that RE2 knows: error parsing regexp: invalid escape sequence: `\\1`',
    '5:71: "upstreams[1].expect.headers[0].matches" must be an expression that RE2 knows: error parsing regexp: missing closing ): `(`',
    '5:97: "upstreams[1].expect.body[0].matches" must be an expression that RE2 knows: it has 2021 steps, and may have 1000',
    '6:48: "upstreams[2].expect.body[0]" must have one kind of check, received contains and lacks: write one entry for each',
    '6:60: "upstreams[2].expect.body[1]" must have at least one of path, contains, lacks, matches, received none of them',
  ],
  "budget-list": [
    '4:101: "upstreams[0].budget[1]" must name a budget, received "acount": did you mean "account"? allowed are model, account, b, c, d',
    '5:101: "upstreams[1].budget[1]" must differ from the other budgets of its upstream, received "model" again',
    '6:93: "upstreams[2].budget" must be a list of at least one budget, received an empty list',
    '7:93: "upstreams[3].budget" must be a list of at most 4 budgets, received a list',
    '8:94: "upstreams[4].budget[0]" must be the name of a budget, received 5',
  ],
  "budget-name": [
    '1:12: key "my api" in "budgets" must be a name of at most 64 letters, digits, dots, dashes and underscores',
    '2:94: "upstreams[0].budget" must be the name of a budget, received "my api"',
  ],
  sla: [
    '1:16: "web.badges" must be true or false, received "sometimes"',
    '10:17: "upstreams[0].sla.at_least" must be a percentage above 0% and below 100%, such as 99.9%, received "100%"',
    '11:13: "upstreams[0].sla.unit" must be one of minute, received "hour"',
    '12:29: "upstreams[0].sla.bad_unit.failures" must be a whole number from 1 to 5, received 6',
    '13:17: "upstreams[0].sla.credits[0].credit" is missing: it must be a percentage above 0% and up to 100%, such as 10%',
    '13:57: "upstreams[0].sla.credits[1].credit" must be a percentage above 0% and up to 100%, such as 10%, received "a quarter"',
    '14:21: "upstreams[0].sla.claim_within" must be a duration from 1d to 366d, such as 30d, received "5m"',
    '15:18: "upstreams[0].sla.time_zone" must be the name of a time zone that is whole hours from UTC, as sums are kept by the hour, such as Europe/Berlin, received "Asia/Kolkata"',
    '21:5: "upstreams[1].sla.at_least" is missing: it must be a percentage above 0% and below 100%, such as 99.9%',
    '21:22: "upstreams[1].sla.bad_unit" must be all_failed, any_failed or a mapping with failures, received "most_failed"',
    '21:44: "upstreams[1].sla.credits" must be a list of at least one credit, received an empty list',
    '21:59: "upstreams[1].sla.time_zone" must be the name of a time zone that is whole hours from UTC, as sums are kept by the hour, such as Europe/Berlin, received "Berlin"',
  ],
  "cron-month": [
    '7:11: "upstreams[0].cron" must be a cron expression: its month field "13" must be within 1 to 12, received "0 0 1 13 *"',
  ],
  "cron-never": [
    '7:11: "upstreams[0].cron" must be a cron expression: no date ever matches its day-of-month and month, received "0 0 30 2 *"',
  ],
  defaults: [
    '3:3: unknown key "name" in "defaults"',
    '4:11: "defaults.method" must be one of GET, HEAD, POST, PUT, PATCH, OPTIONS, DELETE, received "post"',
    '5:11: "defaults.budget" must name a budget, received "apii": did you mean "api"? allowed are api',
    '6:10: "defaults.every" must be a period of whole seconds from 1s to 1d, such as 15s, 90s or 5m, received "1500ms"',
    '7:3: "defaults" must have every or cron, received both',
    '8:12: "defaults.timeout" must be a duration from 10ms to 1m, such as 10s, received "2m"',
    '9:13: "defaults.base_url" must be a URL without a user name or password: a key is never written in the config, see auth, received a string of 61 characters',
    '10:26: "defaults.auth.bearer.env" must be the bare name of a variable, such as API_KEY, received a string of 31 characters',
    '11:14: "defaults.headers" must not contain a key: a key is never written in the config, use auth: { header: { name: HEADER, env: NAME } } or auth: { bearer: { env: NAME } }',
    '12:10: "defaults.proxy" must be env, none or an http:// or https:// URL with a host, received a string of 31 characters',
    '13:13: "defaults.labels.upstream" is a label that metrics, scrapes or alerts set themselves: choose another name',
    '14:30: "defaults.objective.availability" must be a percentage above 0% and below 100%, such as 99.5%, received "100%"',
  ],
  "defaults-as-a-list": ['2:11: "defaults" must be a mapping, received a list'],
  "defaults-missing": [
    '2:36: "upstreams[0].auth.bearer.env": cannot read key: the variable NOT_SET is not set',
    '2:90: "upstreams[0].tls.ca_file" must be a readable file: there is no such file: missing.pem',
  ],
  "defaults-of-one": [
    '5:3: "upstreams[1].tls" must not be set where base_url is http://',
    '6:12: "defaults.confirm" must be a whole number from 0 to 10, or a mapping such as { polls: 1, over: 10s }, received "many"',
    '7:3: unknown key "auth_file" in "defaults": did you mean "auth"?',
    '11:5: "upstreams[2]" must have every or cron, received neither',
    '12:5: "upstreams[3].base_url" is missing: it must be an http:// or https:// URL',
    '12:46: "upstreams[3].budget" must be the name of a budget, or a list of names, received nothing',
  ],
  "defaults-unreadable": ["2:17: an alias (*) must name an anchor (&) before it"],
  "different-labels": [
    '4:101: "upstreams[1].labels" must have the same keys as on upstreams[0] (team), received owner',
  ],
  directive: ["1:1: cannot read YAML: directives (%) are not used here"],
  "does-not-fit": [
    '4:9: budget "api" does not fit: its upstreams may ask for 14 requests in 1m (a: 6 × (1 + 1 to confirm), b: 1 × (1 + 1 to confirm)), its cap is 12 (20% of 60): poll every 2m, or raise share to 84%',
    '5:9: budget "api" does not fit: its upstreams may ask for 840 requests in 1h (a: 360 × (1 + 1 to confirm), b: 60 × (1 + 1 to confirm)), its cap is 200 (20% of 1000): poll every 2m, or raise share to 84%',
  ],
  "duplicate-key": ['4:1: duplicate key "log": it is in line 2 already'],
  "duplicate-name": ['4:13: "upstreams[1].name" must be unique, received "api" like upstreams[0]'],
  "duplicate-name-and-full": ['5:13: "upstreams[1].name" must be unique, received "api" like upstreams[0]'],
  "duration-without-unit": [
    '1:46: "budgets.api.rate.per" must be a duration from 10ms to 1h, such as 1m (a limit of a day or a month is a quota of the budget), received 60',
  ],
  "empty-value": ['2:1: "log" must be a mapping, received nothing'],
  empty: ["1:1: the config is empty: it needs at least budgets and upstreams"],
  "status-as-a-text": [
    '8:29: "upstreams[0].expect.status[1]" must be a whole number from 200 to 599 but 402 and 429, which are never ok, or a class such as 2xx, received "204"',
  ],
  "variable-without-braces": [
    '4:15: "upstreams[0].base_url" must be an http:// or https:// URL with a host, received a string of 9 characters (the value of a variable is written ${NAME})',
  ],
  "every-and-cron": ['8:5: "upstreams[0]" must have every or cron, received both'],
  "expected-throttle": [
    '8:29: "upstreams[0].expect.status[1]" must be a whole number from 200 to 599 but 402 and 429, which are never ok, or a class such as 2xx, received 429',
    '8:45: "upstreams[0].expect.max_body" must be a size from 1B to 8MiB, such as 1MiB, received "1MB"',
  ],
  "fits-nowhere": [
    '1:25: budget "api" does not fit: its upstreams may ask for 4 requests in 1m (api: 2 × (1 + 1 to confirm)), its cap is 1 (100% of 1): no share and no period fits: watch fewer upstreams, or lower confirm',
  ],
  fleet: [
    '6:12: "fleet.lock.redis.url" must be a URL without a user name or password: see username and password, received a string of 55 characters',
    '7:7: "fleet.lock.redis" must have url or sentinel, received both',
    '7:38: "fleet.lock.redis.sentinel.nodes[0]" must be an address and port, such as 10.0.0.1:6379, received "127.0.0.1"',
    '8:7: "fleet.lock.redis.tls" must not be set together with url: for TLS, write rediss:// there',
    '9:34: "fleet.lock.redis.password" must have env or file, received both',
    '10:7: "fleet.lock.redis.cert_file" must be set only where url is rediss://',
    '10:7: "fleet.lock.redis.cert_file" must come with key_file',
    '11:12: "fleet.lock.redis.key" must be a name of at most 64 letters, digits, dots, dashes and underscores, received "two words"',
    '12:8: "fleet.ttl" must be a duration from 1s to 10m, such as 10s, received "1ms"',
    '13:9: "fleet.name" must be a name of at most 64 letters, digits, dots, dashes and underscores, received "two words"',
    '14:14: "fleet.advertise" must be an http:// or https:// URL with a host, received "10.0.0.7"',
  ],
  "fleet-of-replicas": [
    '3:1: "fleet.lock" is missing: it must be a mapping',
    '3:10: unknown key "redis" in "fleet": write it as fleet.lock: { redis: … }',
    '3:73: unknown key "mode" in "fleet": remove it, as one process of a fleet polls and the others stand by; to see an API from several places, write vantage beside fleet',
    '3:86: unknown key "replicas" in "fleet": remove it, as there may be any number of them',
    '3:99: unknown key "reserve" in "fleet": remove it, as whoever cannot reach the lock sends nothing',
    '3:113: unknown key "prefix" in "fleet": write it as fleet.lock.redis.key',
  ],
  "fleet-without-redis": [
    '3:18: "fleet.lock.redis" must have url or sentinel, received neither',
    '3:44: "fleet.lock.redis.password.env": cannot read key: the variable NOT_SET is not set',
  ],
  fragment: [
    '4:15: "upstreams[0].base_url" must be a URL without a fragment (#), received a string of 29 characters',
  ],
  "key-in-a-header": [
    '6:32: "upstreams[0].headers" must not contain a key: a key is never written in the config, use auth: { header: { name: HEADER, env: NAME } } or auth: { bearer: { env: NAME } }',
    '6:76: "upstreams[0].headers" must not contain a key: a key is never written in the config, use auth: { header: { name: HEADER, env: NAME } } or auth: { bearer: { env: NAME } }',
  ],
  "key-in-a-query": [
    '4:15: "upstreams[0].base_url" must be a URL without a key in its query: a key is never written in the config, see auth.query, received a string of 65 characters',
    '5:11: "upstreams[0].path" must be a path without a key in its query: a key is never written in the config, see auth.query, received a string of 51 characters',
  ],
  "key-in-a-url": [
    '4:15: "upstreams[0].base_url" must be a URL without a user name or password: a key is never written in the config, see auth, received a string of 61 characters',
    '8:12: "upstreams[0].proxy" must be env, none or a URL without a user name or password: a key is never written in the config, write env and set HTTPS_PROXY, received a string of 67 characters',
  ],
  "latin-1": ["1:1: the file must be UTF-8, received a line that is not"],
  listen: [
    '1:16: "web.listen" must be an address and port, such as 127.0.0.1:10429 or [::1]:10429, received 10429',
    '1:37: "web.probe_listen" must be an address and port, such as 127.0.0.1:10430 or [::1]:10430, received "127.0.0.1"',
    '1:68: "web.enable_lifecycle" must be true or false, received "yes"',
  ],
  "literal-key-as-a-key": [
    '5:13: "upstreams[0].auth.bearer" must have env or file, received neither',
    '5:23: unknown key of 31 characters in "upstreams[0].auth.bearer"',
  ],
  "literal-key-as-a-name": [
    '5:28: "upstreams[0].auth.bearer.env": cannot read key: the variable named here is not set',
  ],
  "literal-key-of-aws": [
    '5:78: "upstreams[0].auth.aws.access_key_id.env": cannot read key: the variable named here is not set',
    '5:127: "upstreams[0].auth.aws.secret_access_key.env": cannot read key: the variable NOT_SET is not set',
  ],
  "literal-key": [
    '5:21: "upstreams[0].auth.bearer" must be { env: NAME } or { file: PATH }: a key is never written in the config, received a string of 31 characters',
  ],
  "malformed-variable": [
    '5:11: a "${" must be ${NAME} or ${NAME:-default} without another one in its default, or $${ for itself',
  ],
  "many-faults": [
    '1:16: "web.listen" must be an address and port, such as 127.0.0.1:10429 or [::1]:10429, received "localhost"',
    '2:15: "log.level" must be one of trace, debug, info, warn, error, received "loud"',
    '4:30: "budgets.email.rate.requests" must be a whole number from 1 to 1000000000, received 0',
    '4:51: "budgets.email.share" must be a percentage above 0% and up to 100%, such as 20%, received "120%"',
    "8:15: the variable PACEWATCH_TEST_URL is not set",
    '10:13: "upstreams[0].budget" must name a budget, received "emial": did you mean "email"? allowed are email, router',
    '11:12: "upstreams[0].every" must be a period of whole seconds from 1s to 1d, such as 15s, 90s or 5m, received "25h"',
    '14:21: "upstreams[1].auth.bearer" must be { env: NAME } or { file: PATH }: a key is never written in the config, received a string of 31 characters',
    '16:5: unknown key "evry" in "upstreams[1]": did you mean "every"?',
    '18:11: "upstreams[2].name" must be unique, received "router" like upstreams[1]',
    '23:14: "upstreams[2].timeout" must be a duration from 10ms to 1m, such as 10s, received "2m"',
  ],
  "merge-bomb": ["2:38: the file must have at most 100000 values, aliases (*) counted in full"],
  "merge-key": [
    '3:105: "upstreams[0].every" must be a period of whole seconds from 1s to 1d, such as 15s, 90s or 5m, received "1500ms"',
    '4:41: "upstreams[1].confirm" must be a whole number from 0 to 10, or a mapping such as { polls: 1, over: 10s }, received "many"',
    "5:20: a merge key (<<) must have a mapping, such as *ALIAS, or a list of them",
    "6:11: an alias (*) must name an anchor (&) before it",
    "7:18: an alias (*) must not be inside its own anchor",
  ],
  request: [
    '4:24: "upstreams[0].method" must be one of GET, HEAD, POST, PUT, PATCH, OPTIONS, DELETE, received "post"',
    '5:16: "upstreams[1].body" must not be set where method is GET, which sends none: set method to one of POST, PUT, PATCH, DELETE',
    '6:30: "upstreams[2].body" must not be set where method is HEAD, which sends none: set method to one of POST, PUT, PATCH, DELETE',
    '6:65: "upstreams[2].expect.json" must not be true where method is HEAD, whose answer has no body',
    '6:71: "upstreams[2].expect.body" must not be set where method is HEAD, whose answer has no body',
    '7:47: "upstreams[3].body" must have exactly one of json, text, form, file, received json and text',
    '8:30: "upstreams[4].body" must have exactly one of json, text, form, file, received none of them',
    '9:36: "upstreams[5].body" must be one of json, text, form or file, received a string of 5 characters',
    '10:48: "upstreams[6].body.form.a" must be a text (quote numbers), received a number',
    '11:43: "upstreams[7].body.text" must be a text (quote numbers), received a number',
    '11:46: unknown key "data" in "upstreams[7].body"',
    '12:43: "upstreams[8].body.file" must be a readable file: there is no such file: missing.json',
    '13:56: "upstreams[9].body.json.api_key" must not contain a key: a key is never written in the config, use a variable such as ${NAME}, or auth',
    '14:33: "upstreams[10].idempotency_key" must be true or false, received "always"',
    '15:50: "upstreams[11].headers" must not contain a key: a key is never written in the config, use auth: { header: { name: HEADER, env: NAME } } or auth: { bearer: { env: NAME } }',
    '16:39: "upstreams[12].auth.basic.user" must be a user\'s name without a colon, received a string of 3 characters',
    '16:56: "upstreams[12].auth.basic.password" must be { env: NAME } or { file: PATH }: a key is never written in the config, received a string of 16 characters',
    '17:24: "upstreams[13].auth.basic.password" is missing: it must be { env: NAME } or { file: PATH }: a key is never written in the config',
    '18:55: "upstreams[14].auth.header.prefix" must be printable text of at most 32 characters, received a string of 6 characters (with white space around it)',
    '19:24: "upstreams[15].auth.aws.secret_access_key" is missing: it must be { env: NAME } or { file: PATH }: a key is never written in the config',
    '19:40: "upstreams[15].auth.aws.service" must be a service\'s name, such as ses or bedrock, received a string of 3 characters',
    '21:16: "upstreams[16].headers.X-Amz-Date" is set twice: by auth, or in another case of letters',
    '23:100: "upstreams[16].auth.aws.secret_access_key.env": cannot read key: the variable NO is not set',
    '23:104: "upstreams[16].auth.aws.secret_access_key" must have env or file, received both',
  ],
  "missing-key": [
    '5:28: "upstreams[0].auth.bearer.env": cannot read key: the variable PACEWATCH_TEST_KEY is not set',
    '10:46: "upstreams[1].auth.header.file": cannot read key: its file cannot be read: there is no such file',
  ],
  "no-list": [
    '2:9: "notify" must be a list of receivers, such as - { name: team, kind: slack, url: { env: SLACK_URL } }, received a mapping',
    '9:38: "upstreams[0].sla.credits" must be a list of credits, such as - { below: 99.9%, credit: 10% }, received a mapping',
    '10:13: "upstreams[0].values" must be a list of values, such as - { name: credit, path: /data/credits }, received a mapping',
    '12:13: "upstreams[0].expect.body" must be a list of assertions, such as - { path: /id, type: string }, received a mapping',
    '13:16: "upstreams[0].expect.headers" must be a list of assertions, such as - { name: X-Version, equals: "2" }, received a mapping',
    '14:17: "upstreams[0].expect.refusals" must be a list of refusals, such as - { status: [403], means: rate }, received a mapping',
  ],
  "no-schedule": ['3:5: "upstreams[0]" must have every or cron, received neither'],
  "no-upstreams": ['2:12: "upstreams" must be a list of at least one upstream, received an empty list'],
  "not-a-certificate": ['8:21: "upstreams[0].tls.ca_file" must contain a PEM certificate'],
  "not-a-mapping": ["1:1: the config must be a mapping, received a list"],
  "not-http": [
    '4:15: "upstreams[0].base_url" must be an http:// or https:// URL with a host, received a string of 22 characters',
  ],
  notify: [
    '3:24: "notify[0].kind" must be one of webhook, slack, discord, teams, ntfy, telegram, pagerduty, alertmanager, received "mail"',
    '4:37: "notify[1].url" must be { env: NAME } or { file: PATH }: the URL is never written in the config, received a string of 44 characters',
    '5:13: "notify[2].name" must be a name of its own, received "chat" again',
    '5:57: "notify[2].key" must not be set where the kind is discord',
    '6:5: "notify[3]" must have chat, as its kind is telegram',
    '6:5: "notify[3]" must have key, as its kind is telegram',
    '6:41: "notify[3].after" must be a duration from 0s to 1d, such as 2m, received "soon"',
    '7:59: "notify[4].on[0]" must be one of down, up, unauthorized, blocked, throttled, credit_ending, api_ending, offline, config_refused, state_lost, received "fire"',
    '7:74: unknown key "team" in "notify[4].only"',
  ],
  "nul-byte": ["2:4: the file must be UTF-8, received a control character (binary data, or UTF-16?)"],
  "number-from-a-variable": [
    '1:37: "budgets.api.rate.requests" must be a whole number from 1 to 1000000000, received a string of 31 characters',
  ],
  oauth2: [
    '8:20: "upstreams[0].auth.oauth2.token_url" must be a URL without a user name or password: a key is never written in the config, see auth, received a string of 69 characters',
    '10:24: "upstreams[0].auth.oauth2.client_secret" must be { env: NAME } or { file: PATH }: a key is never written in the config, received a string of 31 characters',
    '11:18: "upstreams[0].auth.oauth2.scopes[0]" must be a scope without spaces, received a string of 10 characters',
    '12:22: "upstreams[0].auth.oauth2.client_auth" must be one of basic, body, received a string of 6 characters',
    '13:9: unknown key "timeout" in "upstreams[0].auth.oauth2": it is a key of "upstreams[0]"',
    '16:16: "upstreams[1].headers" must not contain a key: a key is never written in the config, use auth: { header: { name: HEADER, env: NAME } } or auth: { bearer: { env: NAME } }',
    '21:41: "upstreams[1].auth.oauth2.client_secret" must have env or file, received both',
    '22:36: "upstreams[1].auth.oauth2.parameters.client_id" is set by Pacewatch itself',
    '22:50: "upstreams[1].auth.oauth2.parameters" must not contain a key: a key is never written in the config, use client_secret: { env: NAME }',
    '23:17: "upstreams[1].auth.oauth2.budget" must name a budget, received a string of 5 characters: allowed are api',
    '24:18: "upstreams[1].auth.oauth2.ca_file" must be a readable file: there is no such file: missing.pem',
    `27:13: "upstreams[2].auth.oauth2.client_id" is missing: it must be a client's id`,
    '27:13: "upstreams[2].auth.oauth2.client_secret" is missing: it must be { env: NAME } or { file: PATH }: a key is never written in the config',
    '27:13: "upstreams[2].auth.oauth2.token_url" is missing: it must be an http:// or https:// URL',
  ],
  "only-a-comment": ["1:1: the config is empty: it needs at least budgets and upstreams"],
  "other-words": [
    '3:16: unknown key "url" in "upstreams[0]": did you mean "base_url"?',
    '3:84: unknown key "interval" in "upstreams[0]": did you mean "every"?',
    '4:95: "upstreams[1].cron" must be a cron expression: it must have no time zone in it: set time_zone beside it, received "CRON_TZ=Europe/Berlin 0 9 * * *"',
    '5:110: unknown key "timezone" in "upstreams[2]": did you mean "time_zone"?',
    '6:121: "upstreams[3].time_zone" must be the name of a time zone, such as Europe/Berlin, received "Europe/Bonn"',
    '7:97: "upstreams[4].method" must be one of GET, HEAD, POST, PUT, PATCH, OPTIONS, DELETE, received "post"',
  ],
  "own-header": [
    '5:29: "upstreams[0].auth.header.name" must be a header that Pacewatch does not set itself',
    '6:16: "upstreams[0].headers.content-length" is set by Pacewatch itself',
    '6:48: "upstreams[0].headers.X-Team" is set twice: by auth, or in another case of letters',
  ],
  "port-from-a-variable": [
    '1:16: "web.listen" must be an address and port, such as 127.0.0.1:10429 or [::1]:10429, received a string of 15 characters',
  ],
  prices: [
    `5:5: "budgets.api.price.currency" is missing: it must be a currency's three letters, such as EUR`,
    '8:23: "budgets.wrong.spend.at_most" must be a number from 0.000000001 to 1000000, received 0',
    '16:11: "upstreams[0].price[0].of" must come with at_most',
    '17:31: "upstreams[0].price[1].at_most" must come with of and per and is',
    '17:57: "upstreams[0].price[1].currency" must be the currency of the other parts of its price',
    '18:9: "upstreams[0].price[2]" must have per_request or of, received neither',
    `18:21: "upstreams[0].price[2].currency" must be a currency's three letters, such as EUR, received "eur"`,
    '18:21: "upstreams[0].price[2].currency" must be the currency of the other parts of its price',
    '19:11: "upstreams[0].price[3].of" must come with per',
    '19:15: "upstreams[0].price[3].of" must be a JSON pointer, such as /usage/total_tokens, received "usage"',
    '19:26: "upstreams[0].price[3].is" must be a number from 0 to 1000000, received -1',
    '20:31: "upstreams[0].price[4]" must have per_request or of, received both',
    '20:31: "upstreams[0].price[4].of" must come with per',
  ],
  "spend-without-a-price": [
    '13:5: upstream "free" has no price, and draws on the spend of budget "account": give it or the budget a price, such as { per_request: 0.001, currency: EUR }, or per_request: 0 if it is free',
    '15:5: upstream "both" draws on budgets that each have a price, "model" and "other": give it the price that counts',
    '16:46: upstream "foreign" has a price in USD, and "small" one in EUR: the spend of budget "account" is in one currency',
  ],
  "spend-spent-early": [
    '4:12: budget "api" would use up its spend early: its schedules ask for 345.60 USD in 30d, the spend is 5.00: poll every 20m, or set on_exhaust: stop',
  ],
  "quota-spent-early": [
    '4:12: budget "api" would use up its quota early: its schedules ask for 172800 requests in 30d, the quota is 100000: poll every 30s, or set on_exhaust: stop',
  ],
  "quota-unknown-way": ['4:55: "budgets.api.quota.on_exhaust" must be one of stop, refuse, received "warn"'],
  "rate-over-an-hour": [
    '1:48: "budgets.api.rate.per" must be a duration from 10ms to 1h, such as 1m (a limit of a day or a month is a quota of the budget), received "1d"',
  ],
  "rates-over-one-window": ['5:30: "budgets.api.rate[1].per" must differ from the other rates of its budget'],
  "reserved-label": [
    '8:15: "upstreams[0].labels.upstream" is a label that metrics, scrapes or alerts set themselves: choose another name',
    '8:28: key "1st" in "upstreams[0].labels" must be a Prometheus label name',
    '8:42: "upstreams[0].labels.tier" must be a text of at most 128 characters (quote numbers), received 1',
  ],
  "several-documents": ["2:1: cannot read YAML: a file must be one document, received several"],
  "share-as-a-number": [
    '1:59: "budgets.api.share" must be a percentage above 0% and up to 100%, such as 20%, received 0.2',
  ],
  tab: ["2:1: cannot read YAML: tabs must not be used to indent: use spaces"],
  tag: ["1:16: tags (!) are not used here"],
  "taken-parameter": [
    '5:28: "upstreams[0].auth.query.name" must be a parameter that base_url and path do not have yet',
  ],
  "tls-without-https": [
    '8:5: "upstreams[0].tls" must not be set where base_url is http://',
    '8:12: "upstreams[0].tls.cert_file" must come with key_file',
    '8:23: "upstreams[0].tls.cert_file" must be a readable file: there is no such file: no-such-file.pem',
  ],
  refusals: [
    '10:11: "upstreams[0].expect.refusals[0]" must have at least one of status, header, json, text, received none of them',
    '11:32: "upstreams[0].expect.refusals[1]" must have header or json, received both',
    '12:21: "upstreams[0].expect.refusals[2].status" must be a list of status codes, such as [403], received 403',
    '13:19: "upstreams[0].expect.refusals[3].json" must be a JSON pointer, such as /error/code, received "error.code"',
    '14:32: "upstreams[0].expect.refusals[4].means" must be one of rate, quota, unauthorized, forbidden, blocked, server_error, client_error, status, received "down"',
  ],
  values: [
    '7:9: "upstreams[0].values[0]" must have path or header, received neither',
    '8:46: "upstreams[0].values[1]" must have path or header, received both',
    '9:17: "upstreams[0].values[2].name" must be a name of its own, received "credit" again',
    '10:29: "upstreams[0].values[3].path" must be a JSON pointer, such as /data/credits, received "data.credits"',
    '11:48: "upstreams[0].values[4].unit" must be a word such as usd or requests, received "US $"',
    '12:48: "upstreams[0].values[5].credit" must be true or false, received "yes"',
  ],
  "too-many-values": ['7:7: "upstreams[0].values" must be a list of at most 10 values, received a list'],
  "two-auths": [
    '5:40: "upstreams[0].auth" must have exactly one of none, bearer, header, query, basic, aws, oauth2, received bearer and query',
    '5:40: "upstreams[0].auth.query" must have env or file, received neither',
  ],
  "unclosed-quote": ["4:15: cannot read YAML: this quote is not closed"],
  "unquoted-cron": [
    '7:16: cannot read YAML: a value that begins with * or & must be quoted, as in cron: "*/15 * * * *"',
  ],
  "no-space-after-a-colon": [
    "6:5: cannot read YAML: a key must be on one line, with a colon and a space after it",
  ],
  "unclosed-list": [
    "3:1: cannot read YAML: the indentation is wrong, or a bracket or quote before here is not closed",
  ],
  "part-seconds": [
    '7:12: "upstreams[0].every" must be a period of whole seconds from 1s to 1d, such as 15s, 90s or 5m, received "1500ms"',
  ],
  "unknown-alias": ["4:5: an alias (*) must name an anchor (&) before it"],
  "unknown-budget": [
    '6:13: "upstreams[0].budget" must name a budget, received "apii": did you mean "api"? allowed are api',
  ],
  stream: [
    '4:34: "upstreams[0].stream.format" must be one of sse, ndjson, received "websocket"',
    '5:16: "upstreams[1].stream.format" is missing: it must be one of sse, ndjson',
    '6:30: "upstreams[2].stream" must not be set where method is HEAD, whose answer has no body',
    '7:45: "upstreams[3].stream.ends" must be end, { data: TEXT } or { path: POINTER, equals: VALUE }, received "done"',
    '7:60: "upstreams[3].stream.at_most" must be a whole number from 1 to 1000, received 0',
    '7:76: "upstreams[3].stream.gap_timeout" must be a duration from 10ms to 1m, such as 10s, received "2m"',
    '8:45: "upstreams[4].stream.ends" must be end, { data: TEXT } or { path: POINTER, equals: VALUE }, received a mapping',
    '9:45: "upstreams[5].stream.ends" must be end, { data: TEXT } or { path: POINTER, equals: VALUE }, received a mapping',
    '10:48: "upstreams[6].stream.at_most" must be a whole number from 1 to 1000, received 5000',
    '10:70: "upstreams[6].stream.counts.path" must be a JSON pointer, such as /choices/0/delta/content, received "delta"',
    '11:45: "upstreams[7].expect.body[0].of" must not be set where there is no stream',
    '11:91: "upstreams[7].values[0].of" must not be set where there is no stream',
    '12:64: "upstreams[8].expect.body[0].of" must not be joined where stream has no counts: say there which texts are joined',
    '13:77: "upstreams[9].values[0].of" must not be set where header is',
    '14:74: "upstreams[10].expect.body[0].of" must be one of last, first, joined, received "middle"',
  ],
  "misplaced-keys": [
    '2:41: unknown key "share" in "budgets.api.rate": it is a key of "budgets.api"',
    '3:1: unknown key "listen": it is a key of "web"',
    '10:5: unknown key "status" in "upstreams[0]": it is a key of "upstreams[0].expect"',
    '11:15: unknown key "timeout" in "upstreams[0].expect": it is a key of "upstreams[0]"',
    '12:5: unknown key "group" in "upstreams[0]": did you mean "labels"?',
  ],
  "no-break-space": ["6:1: cannot read YAML: this is not an ordinary space: type it again"],
  "default-in-a-default": [
    '8:21: a "${" must be ${NAME} or ${NAME:-default} without another one in its default, or $${ for itself',
  ],
  "variables-with-more": [
    '4:31: "upstreams[0].base_url" must be an http:// or https:// URL with a host, received a string of 26 characters (with quotes around it)',
    '5:31: "upstreams[1].base_url" must be an http:// or https:// URL with a host, received a string of 25 characters (with white space around it)',
    '6:83: "upstreams[2].auth.bearer.env" must be the bare name of a variable, such as API_KEY, received a string of 31 characters',
    '7:80: "upstreams[3].auth.bearer.env" must be the bare name of a variable, such as API_KEY, received a string of 9 characters (the value of a variable is written ${NAME})',
  ],
  "unknown-key": ['8:5: unknown key "timeuot" in "upstreams[0]": did you mean "timeout"?'],
  "unknown-section": ['2:1: unknown key "metrics"'],
  "unquoted-variable": [
    '1:38: cannot read YAML: a variable inside { } or [ ] must be quoted, as in { key: "${NAME}" }',
  ],
  "unset-variable": ["4:15: the variables PACEWATCH_TEST_HOST and PACEWATCH_TEST_PATH are not set"],
  "web-file": ['1:21: "web.config_file" must be a readable file: there is no such file: no-such-file.yaml'],
  "wrong-types": [
    '1:10: "budgets" must be a mapping of names to budgets, received a list',
    '3:5: "upstreams[0]" must be a mapping, received "api"',
    '4:11: "upstreams[1].name" must be a name of at most 64 letters, digits, dots, dashes and underscores, received 5',
    '5:15: "upstreams[1].base_url" must be an http:// or https:// URL, received a list',
    '6:11: "upstreams[1].auth" must be one of bearer, header, query (each with env or file), basic, aws, oauth2 or none: true; a key is never written in the config, received a boolean',
    '7:13: "upstreams[1].budget" must be the name of a budget, or a list of names, received a mapping',
    '8:12: "upstreams[1].every" must be a period of whole seconds from 1s to 1d, such as 15s, 90s or 5m, received 15',
    '9:14: "upstreams[1].confirm" must be a whole number from 0 to 10, or a mapping such as { polls: 1, over: 10s }, received "1"',
    '10:26: "upstreams[1].headers.X-Number" must be printable ASCII text of at most 2048 characters (quote numbers), received a number',
    '11:13: "upstreams[1].labels" must be a mapping of label names to texts, received "none"',
  ],
};

/** Each file is read once, however many look at what is said of it. */
const said = new Map<string, Promise<readonly string[]>>();

function faultsOf(name: string): Promise<readonly string[]> {
  const known = said.get(name) ?? readFaults(name);
  said.set(name, known);
  return known;
}

async function readFaults(name: string): Promise<readonly string[]> {
  const loading = await load(join(FIXTURES, `${name}.yaml`), { environment });
  if (loading.kind === "loaded") return ["loaded"];
  return loading.faults.map(
    ({ line, column, message }) => `${line}:${column}: ${message.replaceAll(`${FIXTURES}/`, "")}`,
  );
}

/** Which keys a section allows is said by the schema; how a fault lists them is pinned once, below. */
function withoutAllowedKeys(fault: string): string {
  return fault.replace(/(unknown key .*?)[:;]? allowed are .*/, "$1");
}

describe("a config is refused with every fault and its place", () => {
  test.each(Object.keys(REFUSED))("%s", async (name) => {
    const faults = await faultsOf(name);
    expect(faults.map(withoutAllowedKeys)).toEqual(REFUSED[name]);
  });

  test("an unknown key is told with all keys that may stand there", async () => {
    expect(await faultsOf("defaults")).toContain(
      '3:3: unknown key "name" in "defaults": allowed are base_url, path, method, body, idempotency_key, stream, auth, headers, budget, every, cron, time_zone, timeout, confirm, expect, degraded_above, request_id_headers, values, price, objective, sla, connection, proxy, tls, labels, links',
    );
  });

  test("each file there is listed here", () => {
    const files = readdirSync(FIXTURES).map((file) => file.replace(/\.yaml$/, ""));
    expect(files.toSorted()).toEqual(Object.keys(REFUSED).toSorted());
  });

  test("no sentence shows a key that was pasted into the config, wherever it was pasted", async () => {
    const sentences = (await Promise.all(Object.keys(REFUSED).map((name) => faultsOf(name))))
      .flat()
      .join("\n");
    expect(sentences).not.toContain("must-not-be-shown");
    expect(sentences).not.toContain("must_not_be_shown");
    expect(sentences).not.toContain("MUSTNOTBESHOWN");
  });
});
