/** Texts of servers for models and people: bounded, and without characters that nobody sees. */

/** Invisible characters, and those that change how others are displayed; tabs and line breaks stay. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

export function seenText(given: string, longest: number): string {
  const text = given
    .slice(0, longest + 1)
    .replace(UNSEEN, '')
    .toWellFormed()
    .trim()
  return text === '' || given.length <= longest ? text : `${text.slice(0, longest).toWellFormed()}…`
}
