/** Evaluates arithmetic expressions; never runs them as code. */

const TOKEN = /\s*(\d+(?:\.\d+)?(?:e[+-]?\d+)?|\*\*|[-+*/%^()])/iy

/** The value of an expression with + - * / % ^ and brackets. Throws an error with the mistake and its position. */
export function calculate(expression: string): number {
  const reader = new Reader(tokensOf(expression))
  const value = reader.sum()
  reader.end()
  if (!Number.isFinite(value)) throw new Error(`${expression} has no finite value.`)
  return Number(value.toPrecision(15))
}

function tokensOf(expression: string): string[] {
  const text = expression.replaceAll('×', '*').replaceAll('÷', '/').replaceAll('−', '-').trim()
  const tokens: string[] = []
  TOKEN.lastIndex = 0
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    const [, token] = TOKEN.exec(text) ?? []
    if (token === undefined)
      throw new Error(
        `Only numbers, + - * / % ^ and brackets can be used, not ${JSON.stringify(text.slice(at, at + 10))}.`,
      )
    tokens.push(token)
  }
  if (tokens.length === 0) throw new Error('There is nothing to calculate.')
  return tokens
}

class Reader {
  readonly #tokens: readonly string[]
  #at = 0

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens
  }

  end(): void {
    const left = this.#tokens[this.#at]
    if (left !== undefined) throw new Error(`${JSON.stringify(left)} is not expected there.`)
  }

  sum(): number {
    let value = this.#product()
    for (let sign = this.#take('+', '-'); sign !== undefined; sign = this.#take('+', '-'))
      value += sign === '+' ? this.#product() : -this.#product()
    return value
  }

  #product(): number {
    let value = this.#signed()
    for (let sign = this.#take('*', '/', '%'); sign !== undefined; sign = this.#take('*', '/', '%')) {
      const other = this.#signed()
      value = sign === '*' ? value * other : sign === '/' ? value / other : value % other
    }
    return value
  }

  #signed(): number {
    const sign = this.#take('+', '-')
    return sign === undefined ? this.#power() : sign === '-' ? -this.#signed() : this.#signed()
  }

  #power(): number {
    const base = this.#single()
    return this.#take('^', '**') === undefined ? base : base ** this.#signed()
  }

  #single(): number {
    const token = this.#tokens[this.#at]
    this.#at += 1
    if (token === '(') {
      const value = this.sum()
      if (this.#take(')') === undefined) throw new Error('A bracket is not closed.')
      return value
    }
    const value = Number(token)
    if (token === undefined || Number.isNaN(value))
      throw new Error(
        token === undefined
          ? 'Something is missing at the end.'
          : `A number is missing before ${JSON.stringify(token)}.`,
      )
    return value
  }

  #take(...expected: readonly string[]): string | undefined {
    const token = this.#tokens[this.#at]
    if (token === undefined || !expected.includes(token)) return undefined
    this.#at += 1
    return token
  }
}
