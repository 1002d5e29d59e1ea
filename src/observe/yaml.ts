/** Values as YAML that parsers of version 1.1 and 1.2 read alike. It knows the few kinds that session files have. */

/**
 * Characters that YAML does not permit as they are, that parsers take for line ends, or that turn or hide text. Those of the
 * first plane: an escape of JSON for any other is none of YAML. Joiners are parts of scripts and emoji.
 */
const SPECIAL = /[\u007f-\u009f\u2028\u2029\ufffe\uffff]|[[\p{Cf}--[\u200c\u200d]]&&[\u00a0-\uffff]]/gv

function printable(json: string): string {
  return json.replaceAll(SPECIAL, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** A text in double quotes, on one line. Escapes of JSON are escapes of YAML, too. */
export function yamlText(text: string): string {
  return printable(JSON.stringify(text))
}

/** A text that is JSON, in single quotes: its own quotes stay readable. Parses to an equal value. */
export function yamlJson(value: unknown): string {
  return `'${printable(JSON.stringify(value)).replaceAll("'", "''")}'`
}

export function yamlList(texts: readonly string[]): string {
  return `[${texts.map(yamlText).join(', ')}]`
}

/** Without an exponent, which parsers of version 1.1 take for a text; rounded to ten digits. */
export function yamlNumber(value: number): string {
  return value.toFixed(10).replace(/\.?0+$/, '')
}
