/** Quotes foreign text for a message: shortened, and without characters that disturb a terminal or a log. */

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

export function quote(text: unknown, most = 60): string {
  if (typeof text !== 'string') return text === null ? 'null' : `a value of type ${typeof text}`
  const short = text.length > most ? `${text.slice(0, most)}…` : text
  return JSON.stringify(short).replace(UNPRINTABLE, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`)
}
