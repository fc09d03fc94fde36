/** A part of a text keeps the whole of it in memory. What is kept of an answer is copied, so that the rest of it goes. */
export function ownCopy<Value extends object>(value: Value): Value {
  const copy: Value = JSON.parse(JSON.stringify(value));
  return copy;
}
