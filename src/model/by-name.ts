/** Tables about models, by name prefix: `gpt-4.1` is about `openai/gpt-4.1-2025-04-14` too. */

/** A key matches the whole name or the part after the provider; the whole name goes first, then the longest key. */
export function byName<T>(name: string, table: Readonly<Record<string, T>>): T | undefined {
  return longest(name, table) ?? longest(name.slice(name.indexOf('/') + 1), table)
}

function longest<T>(text: string, table: Readonly<Record<string, T>>): T | undefined {
  let best = ''
  for (const key in table) if (key.length > best.length && text.startsWith(key)) best = key
  return table[best]
}
