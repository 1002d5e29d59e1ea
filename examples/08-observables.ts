/**
 * A turn is an async iterable and an observable. RxJS is not a dependency of Holdfast: install it with
 * `npm install rxjs`, and write `from(turn)`. The observable of a failed turn completes: the failure is in its outcome.
 */
import { Agent } from 'holdfast'
import { ScriptedModel } from 'holdfast/testing'
import { filter, from, lastValueFrom, map, scan, tap, toArray } from 'rxjs'

const agent = new Agent({
  contextId: 'rx',
  model: new ScriptedModel([
    { deltas: ['Slowly ', 'it ', 'comes ', 'together.'] },
    { error: { status: 400, message: 'No.' } },
    'Once more.',
  ]),
})

const turn = agent.executeTurn('Tell me')
const whole = from(turn).pipe(
  filter((event) => event.type === 'text.delta'),
  map(({ data }) => data.text),
  tap((piece) => console.log('piece:', JSON.stringify(piece))),
  scan((text, piece) => text + piece, ''),
)
console.log('whole:', await lastValueFrom(whole))

// Late subscribers get every entry from the start, and no past deltas.
const types = await lastValueFrom(
  from(turn).pipe(
    map(({ type }) => type),
    toArray(),
  ),
)
console.log('late:', types.join(' '))

// Without RxJS: subscribe.
const failing = agent.executeTurn('Again')
await new Promise<void>((resolve) => {
  failing.subscribe({
    next: (event) => event.type === 'turn.end' && console.log('turn.end:', event.data.outcome),
    error: () => console.log('never, for what a model does wrong'),
    complete: resolve,
  })
})
console.log((await failing.outcome).error?.message)

// Unsubscribing does not stop the turn.
const last = agent.executeTurn(null)
last.subscribe(() => {}).unsubscribe()
console.log((await last.outcome).text)
