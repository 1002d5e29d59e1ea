/** The last line of `--json`: the outcome, also of a command that failed. */
export function outcomeLine(outcome: { readonly exitCode: number }): object {
  return { type: 'outcome', ...outcome }
}
