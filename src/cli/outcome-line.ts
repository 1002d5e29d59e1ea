/** The last line of a command that was asked for lines of JSON: how it ended, whatever ended it. */
export function outcomeLine(told: { readonly exitCode: number }): object {
  return { type: 'outcome', ...told }
}
