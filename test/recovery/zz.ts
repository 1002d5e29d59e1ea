import { deathsOf, playOut, sameText } from './cut.ts'
import { PLAYS } from './plays.ts'

const [word = ''] = process.argv.slice(2)
for (const play of PLAYS) {
  if (!play.name.includes(word)) continue
  const t = performance.now()
  const timer = setTimeout(() => {
    console.log('STUCK', play.name)
    process.exit(1)
  }, 20000)
  const whole = await playOut(play, [])
  if (process.env.SHOW) {
    console.log(whole.text)
    for (const [c, es] of Object.entries(whole.journals))
      for (const e of es)
        console.log(c, e.seq, e.turn, e.type, JSON.stringify(e.data).slice(0, 100), e.takes ?? '')
  }
  console.log(play.name, whole.counts[0], whole.problems)
  let bad = 0
  for (const death of deathsOf(whole)) {
    let timer: any
    const r = await Promise.race([
      playOut(play, [death]),
      new Promise<undefined>((r) => (timer = setTimeout(() => r(undefined), 3000))),
    ])
    clearTimeout(timer)
    if (r === undefined) {
      console.log('  STUCK', death)
      bad++
      continue
    }
    if (r.problems.length || !sameText(r.text, whole.text)) {
      bad++
      if (bad < 4) {
        console.log('  ', death, r.problems)
        if (!sameText(r.text, whole.text)) console.log(r.text)
        if (process.env.SHOW)
          for (const [c, es] of Object.entries(r.journals))
            for (const e of es)
              console.log(c, e.seq, e.turn, e.type, JSON.stringify(e.data).slice(0, 100), e.takes ?? '')
      }
    }
  }
  clearTimeout(timer)
  console.log('   ', deathsOf(whole).length, 'points,', bad, 'bad', (performance.now() - t).toFixed(0), 'ms')
}
