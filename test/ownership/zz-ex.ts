import { explore, replay } from '../../src/testing/index.ts'
import { driveReal } from './real-driver.ts'
import * as S from './scopes.ts'
import { scenarioOf } from './world.ts'

Error.stackTraceLimit = 5
const [which = 'FAST', word = '', order = 'depth', cap = '200000'] = process.argv.slice(2)
const all: any[] = (S as any)[which]
for (const one of all) {
  const setting = one.setting ?? one
  if (!setting.name.includes(word)) continue
  const s = scenarioOf(process.env.READS ? { ...setting, reads: process.env.READS } : setting, {
    drive: driveReal,
  })
  const r = await explore(s, { order: order as any, maxStates: Number(cap) })
  console.log(
    setting.name,
    one.rule ?? '',
    r.states,
    r.transitions,
    r.paths,
    r.exhaustive,
    r.seconds.toFixed(1),
  )
  for (const v of r.violations) {
    console.log('  ', v.rule, v.message)
    if (order === 'breadth') for (const l of (await replay(s, v.schedule)).lines) console.log('       ', l)
  }
}
