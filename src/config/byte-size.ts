const UNITS = { B: 1, KiB: 1024, MiB: 1024 ** 2 } as const;

export const BYTE_SIZE_PATTERN: RegExp = /^(\d{1,9})(B|KiB|MiB)$/;

/** `512B`, `64KiB`, `1MiB`. */
export function parseByteSize(text: string): number | undefined {
  const match = BYTE_SIZE_PATTERN.exec(text);
  const amount = match?.[1];
  const unit = match?.[2];
  if (amount === undefined || !isUnit(unit)) return undefined;
  return Number(amount) * UNITS[unit];
}

export function formatByteSize(bytes: number): string {
  for (const unit of ["MiB", "KiB"] as const) {
    if (bytes >= UNITS[unit] && bytes % UNITS[unit] === 0) return `${bytes / UNITS[unit]}${unit}`;
  }
  return `${bytes}B`;
}

function isUnit(unit: string | undefined): unit is keyof typeof UNITS {
  return unit !== undefined && Object.hasOwn(UNITS, unit);
}
