/** Text in a picture: how wide it will be about, and how it is written so that it stays text. */

/** In pixels, for a common sans-serif; rather too wide than too narrow. */
export function textWidth(text: string, size: number): number {
  let width = 0
  for (const sign of text) width += signWidth(sign)
  return width * size
}

function signWidth(sign: string): number {
  if (/[ijlIft.,:;'|!()[\]/\\ ]/u.test(sign)) return 0.38
  if (/[mwMW@%]/u.test(sign)) return 0.92
  if (/\p{M}/u.test(sign)) return 0
  if ((sign.codePointAt(0) ?? 0) >= 0x1100) return 1.1
  return /[\p{Lu}—…×]/u.test(sign) ? 0.74 : 0.6
}

/** Cut off in the middle of nothing that belongs together, if it is longer than `most` signs. */
export function shortened(text: string, most: number): string {
  const signs = [...new Intl.Segmenter().segment(text)]
  if (signs.length <= most) return text
  return `${signs
    .slice(0, most - 1)
    .map(({ segment }) => segment)
    .join('')}…`
}

const MARKS: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** As text or as an attribute of XML; signs that XML does not know are replaced. */
export function xmlText(text: string): string {
  return text
    .toWellFormed()
    .replace(/[^\t\n\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu, '\u{FFFD}')
    .replace(/[&<>"']/g, (mark) => MARKS[mark] ?? mark)
}
