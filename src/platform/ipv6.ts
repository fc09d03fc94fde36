/** The eight numbers of an address without a zone, in hexadecimal. A URL writes each address in one way, without dots. */
export function ipv6Groups(address: string): readonly string[] {
  const [first = [], last = []] = new URL(`http://[${address}]`).hostname
    .slice(1, -1)
    .split("::")
    .map((part) => part.split(":").filter((group) => group !== ""));
  return [...first, ...Array.from({ length: 8 - first.length - last.length }, () => "0"), ...last];
}
