import { tryFromGuide, KINDS_OF_CASES } from './from-the-guide.ts'
const [n=200, start=1, only=''] = process.argv.slice(2)
const rows = new Map<string, number[]>(); let shown = 0; const told = new Map<string, number>()
const t0 = performance.now(); let adv = 0, mis = 0, near = 0, done = 0
for (let s = Number(start); s < Number(start) + Number(n); s++) {
  let r; try { r = await tryFromGuide(s) } catch (e) { console.log('SEED', s, s % KINDS_OF_CASES, e); continue }
  done++
  const row = rows.get(r.way) ?? [0, 0, 0]; rows.set(r.way, row); row[0]!++
  if (r.got === r.wanted) row[1]!++; else row[2]!++
  if (r.misled !== undefined) near++; if (r.advised) adv++; if (r.misled) mis++
  if ((r.got !== r.wanted || r.misled) && (only === '' || r.way.includes(only))) {
    const c = told.get(r.way + r.got) ?? 0; told.set(r.way + r.got, c + 1)
    if (c < 1) console.log(`\n=== seed ${s} [${r.way}] wanted ${r.wanted} got ${r.got} ${r.misled ? 'MISLED' : ''}\n${r.story}`)
  }
}
for (const [way, [n, ok, bad]] of [...rows].sort()) console.log(way.padEnd(60), n, ok, bad ? `BAD ${bad}` : '')
console.log({ near, adv, mis, done }, ((performance.now() - t0) / done).toFixed(2), 'ms a case')
