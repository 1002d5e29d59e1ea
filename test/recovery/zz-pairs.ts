import { deathsOf, playOut, sameText } from './cut.ts'
import { PLAYS } from './plays.ts'

let n = 0,
  bad = 0
for (const play of PLAYS) {
  const whole = await playOut(play, [])
  for (const a of deathsOf(whole))
    for (const b of deathsOf(await playOut(play, [a]), 1)) {
      const r = await playOut(play, [a, b])
      n++
      if (r.problems.length || !sameText(r.text, whole.text)) {
        bad++
        if (bad < 10) console.log(play.name, a, b, r.problems, sameText(r.text, whole.text) ? '' : r.text)
      }
    }
}
console.log(n, 'pairs', bad, 'bad')
