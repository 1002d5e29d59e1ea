/** The rows of one conversation by position. Positions are dense, and a pruned row leaves a hole. */
export class RowList<Row extends { readonly seq: number }> {
  #first = 1
  #rows: (Row | undefined)[] = []

  get(seq: number): Row | undefined {
    return this.#rows[seq - this.#first]
  }

  /** Requires a position after all others. */
  push(row: Row): void {
    if (this.#rows.length === 0) this.#first = row.seq
    this.#rows.push(row)
  }

  /** In the order of their positions. */
  all(): Row[] {
    return this.#rows.filter((row) => row !== undefined)
  }

  remove(rows: readonly Row[]): void {
    for (const { seq } of rows) this.#rows[seq - this.#first] = undefined
    const start = this.#rows.findIndex((row) => row !== undefined)
    if (start <= 0) return
    this.#rows = this.#rows.slice(start)
    this.#first += start
  }

  clear(): void {
    this.#rows = []
  }
}
