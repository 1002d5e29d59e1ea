/** Rewrites sources so that every `await`, and every element of a `for await`, takes the time that `delayed-awaits.ts` gives. */
import { parseSync, Visitor } from 'oxc-parser'

interface Span {
  readonly start: number
  readonly end: number
}

/** The source with every awaited expression passed to a function. */
export function withDelays(name: string, text: string): string {
  const inserts: { readonly at: number; readonly text: string }[] = []
  const wrap = ({ start, end }: Span, by: string): void => {
    inserts.push({ at: start, text: `globalThis.${by}(` }, { at: end, text: ')' })
  }
  const visitor = new Visitor({
    AwaitExpression: ({ argument }) => wrap(argument, 'delayed'),
    ForOfStatement: (node) => {
      if (node.await) wrap(node.right, 'delayedEach')
    },
  })
  visitor.visit(parseSync(name, text).program)
  // From the end, so that positions stay valid. Of two at one position, the later found is the inner one.
  let done = text
  for (const { at, text: insert } of inserts.toSorted((a, b) => b.at - a.at))
    done = `${done.slice(0, at)}${insert}${done.slice(at)}`
  return done
}
