/**
 * What one answer may cost at most: whatever is read, compared, searched or kept of one is bounded here, and nowhere
 * else. `docs/threat-model.md` has the table and the sums.
 */

const KIB = 1024;

/**
 * Reading: a head, in so many headers, each of which takes 200 bytes more than it has; and of a body what each upstream may
 * always send, which is decoded and judged on the polling thread.
 */
export const HEAD_BYTES: number = 16 * KIB;
export const MOST_HEADERS = 500;
export const SMALL_BODY_BYTES: number = 64 * KIB;
/**
 * One event of a stream, and all that its events say together: what is kept of a stream is its first event, its last, and
 * that. Events are read on the polling thread: after so many bytes others get their turn, and there are at most so many.
 */
export const EVENT_CHARS: number = 64 * KIB;
export const STREAM_TURN_BYTES: number = 32 * KIB;
export const MOST_EVENTS = 1_000;
/**
 * What is kept of a stream while it comes takes two bytes a character at worst: its first event, its last, all that its
 * events say, and the one that is not complete. Who keeps more than a little needs a part of the memory for bodies.
 */
export const SMALL_STREAM_CHARS: number = 32 * KIB;
export const LARGE_STREAM_BYTES: number = 2 * 4 * EVENT_CHARS;
/** What a config may allow. Larger bodies than this could not be judged in the memory that is shipped. */
export const LARGEST_BODY_BYTES: number = 8 * 1024 * KIB;
/**
 * Brackets, commas and colons of JSON: parsed, it takes up to 150 bytes for each, whatever its length. V8 ends the whole
 * process where parsing takes more than there is. All that a megabyte can hold is within it.
 */
export const MOST_JSON_MARKS = 750_000;
/** All large bodies that are being read share this part of the memory that the process may use. */
const PART_FOR_BODIES = 1 / 12;

export function bytesForBodies(memoryBytes: number): number {
  return Math.max(LARGEST_BODY_BYTES, memoryBytes * PART_FOR_BODIES);
}

/**
 * What came of a large body while it waits for that part is in memory too: the system hands over 64 KiB at once, a socket
 * reads until it has so much ahead, and then once more.
 */
export const READ_AHEAD_BYTES: number = 16 * KIB;
export const SOCKET_BYTES: number = 128 * KIB;
/** All that wait share this part. */
const PART_FOR_WAITING = 1 / 4;

export function bytesForWaiting(memoryBytes: number): number {
  return memoryBytes * PART_FOR_WAITING;
}

/**
 * Judging in a thread, which is ended where one answer takes more: libraries match expressions and JSON Schemas, and none
 * counts its steps. A bound of CPU time, as a machine that stands still is not the answer's fault. 750,000 marks of JSON
 * and what they are judged by fit into that heap. So many answers may wait, each of 64 KiB or with a part of the memory
 * for bodies.
 */
export const JUDGING_CPU_MS = 3_000;
export const JUDGING_HEAP_MIB = 192;
export const MOST_TO_JUDGE = 500;

/**
 * No provider that is known speaks of more than a dozen limits in one answer: longer lists are not read, and of more
 * limits the rest is left out. So no answer can make us compare many.
 */
export const MOST_LIMITS = 32;
/** Each limit may have four headers: itself, what is left, its reset, its window. Further ones are left out. */
export const LIMIT_HEADERS: number = 4 * MOST_LIMITS;
export const LIMIT_VALUE_CHARS = 4096;
export const LIMIT_VALUES_CHARS = 16_384;
/** Names of limits and of what they are about. */
export const LIMIT_TEXT_CHARS = 100;

/** The texts of all limits of one answer together. */
export const LIMIT_TEXTS_CHARS = 2_000;

/** Announcing its end: so much of a `Link` or a `Warning` is read, and so much is kept. */
export const ANNOUNCING_CHARS = 4_000;
export const MOST_LINKS = 3;
export const LINK_CHARS = 500;
export const WARNING_CHARS = 300;

/**
 * Understanding a refusal: so many values of its body are looked at, level by level, and so many characters of its
 * sentences; as many codes may be in headers as in a body.
 */
export const REFUSAL_VALUES = 120;
export const REFUSAL_LEVELS = 6;
export const REFUSAL_CODES = 24;
export const REFUSAL_TIMES = 20;
export const REFUSAL_CHARS = 1_024;

/** Searching for keys: so much of one text, and so many characters of what it can be decoded to for each of its own. */
export const SEARCHED_TEXT_CHARS = 4_000;
const SEARCHED_PER_CHAR = 12;
/** A short text may be encoded many times over. */
const SEARCHED_LEAST_CHARS = 10_000;

export function searchedChars(textChars: number): number {
  return Math.max(SEARCHED_LEAST_CHARS, SEARCHED_PER_CHAR * textChars);
}

/** Servers accept no longer header. The search for a token takes as long as it is. */
export const TOKEN_CHARS = 8_192;

/** Keeping: the ids that a provider's support asks for, and the names of other headers. */
export const REQUEST_ID_CHARS = 128;
export const REQUEST_IDS_CHARS = 400;
export const MOST_HEADERS_KEPT = 12;
/** What others wrote in one failed poll that is kept: in memory, on the page, and in the state file. */
export const KEPT_POLL_BYTES = 400;
export const KEPT_DETAIL_BYTES = 280;
/** All texts of its answers that are in memory: failures, their evidence, limits, an announcement. */
export const KEPT_BYTES_AN_UPSTREAM = 20_000;
/** So many polls of an upstream are in the state file at most. */
export const POLLS_IN_FILE = 1_000;
/** Each may have three such polls as its evidence. */
export const INCIDENTS_IN_FILE = 350;
/** All rows of one upstream, with a year of history. */
export const FILE_BYTES_AN_UPSTREAM = 5_000_000;

/** Logging, for each upstream, at `info` and above. What is left out is counted. */
export const LOG_BYTES_A_MINUTE = 10_000;
