/** Tokens: the estimate compared with a tokenizer, and the counts of messages. */
import { readFileSync } from 'node:fs'
import { countTokens as realCount } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, it } from 'vitest'
import type { Message } from '../protocol/index.ts'
import { CONTEXT_SIZES, CONTEXT_SIZES_AS_OF, contextSizeOf } from './context-sizes.ts'
import {
  counterOf,
  countTokens,
  estimatedTokens,
  findCounter,
  type Tokenizer,
  tokenCounter,
} from './tokens.ts'
import { estimateText } from './tokens-estimate.ts'

const file = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

const records = Array.from({ length: 50 }, (_, n) => ({
  id: `ord_${(n * 7919).toString(36)}`,
  customerId: 1000 + n,
  total: n * 13.37,
  createdAt: new Date(1.7e12 + n * 86_400_000).toISOString(),
  items: [{ sku: `SKU-${n}-A`, quantity: n % 5 }],
  active: n % 2 === 0,
  note: null,
}))

const TEXTS: Readonly<Record<string, string>> = {
  'English prose': file('docs/decisions/0010-the-turn.md').replaceAll(/[^\w\s.,;]/g, ''),
  'English markdown': file('docs/guide/stores.md'),
  German:
    'Wer heute durch die Straßen der Altstadt geht, findet überall Spuren dieser Zeit: Lagerhäuser, Anlegestellen und die prächtigen Bürgerhäuser der Reeder. Natürlich war nicht alles so glänzend, wie es die Gemälde zeigen. Die Arbeiter lebten in engen Wohnungen, und Überschwemmungen zerstörten regelmäßig, was sie sich mühsam aufgebaut hatten. Bitte prüfen Sie, ob die Rechnung vollständig ist, und überweisen Sie den Betrag innerhalb von vierzehn Tagen auf das unten angegebene Konto.',
  Chinese:
    '人工智能正在改变我们的生活方式。越来越多的企业开始使用大型语言模型来处理客户的问题,分析数据,并自动生成报告。然而,这些系统也带来了新的挑战:如何保证结果的准确性,如何保护用户的隐私,以及如何控制成本。会议定于下周三上午九点在三号会议室举行,请各位准时参加。',
  Japanese:
    '人工知能は私たちの生活を大きく変えつつあります。多くの企業が大規模言語モデルを使って、お客様からの問い合わせに対応したり、データを分析したりしています。しかし、正確さをどのように保証するのかという課題も残っています。コンピューターとインターネットの発展により、働き方も変わりました。',
  Korean:
    '인공지능은 우리의 생활 방식을 크게 바꾸고 있습니다. 많은 기업들이 대규모 언어 모델을 사용하여 고객의 문의에 답하고 데이터를 분석하며 보고서를 자동으로 작성합니다. 그러나 결과의 정확성을 어떻게 보장할 것인지, 개인정보를 어떻게 보호할 것인지에 대한 문제가 남아 있습니다.',
  Russian:
    'Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и должны поступать в отношении друг друга в духе братства. Пожалуйста, проверьте счёт и переведите указанную сумму в течение четырнадцати дней.',
  Ukrainian:
    'Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і совістю і повинні діяти у відношенні один до одного в дусі братерства. Будь ласка, перевірте рахунок і перекажіть суму протягом чотирнадцяти днів.',
  Greek:
    'Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι προικισμένοι με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους με πνεύμα αδελφοσύνης. Παρακαλώ ελέγξτε το τιμολόγιο.',
  Hebrew:
    'כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך חובה עליהם לנהוג איש ברעהו ברוח של אחוה. אנא בדקו את החשבונית והעבירו את הסכום תוך ארבעה עשר יום.',
  Arabic:
    'يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميرًا وعليهم أن يعامل بعضهم بعضًا بروح الإخاء. يرجى التحقق من الفاتورة وتحويل المبلغ خلال أربعة عشر يومًا.',
  Hindi:
    'सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए।',
  Bengali:
    'সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে। তাঁদের বিবেক এবং বুদ্ধি আছে; সুতরাং সকলেরই একে অপরের প্রতি ভ্রাতৃত্বসুলভ মনোভাব নিয়ে আচরণ করা উচিত।',
  Punjabi:
    'ਸਾਰਾ ਮਨੁੱਖੀ ਪਰਿਵਾਰ ਆਪਣੀ ਮਹਿਮਾ, ਸ਼ਾਨ ਅਤੇ ਹੱਕਾਂ ਦੇ ਪੱਖੋਂ ਜਨਮ ਤੋਂ ਹੀ ਆਜ਼ਾਦ ਹੈ ਅਤੇ ਸੁਤੇ ਸਿੱਧ ਸਾਰੇ ਲੋਕ ਬਰਾਬਰ ਹਨ। ਉਨ੍ਹਾਂ ਸਭਨਾ ਨੂੰ ਤਰਕ ਅਤੇ ਜ਼ਮੀਰ ਦੀ ਸੌਗਾਤ ਮਿਲੀ ਹੋਈ ਹੈ।',
  Gujarati:
    'પ્રતિષ્ઠા અને અધિકારોની દૃષ્ટિએ સર્વ માનવો જન્મથી સ્વતંત્ર અને સમાન હોય છે. તેમનામાં વિચારશક્તિ અને અંતઃકરણ હોય છે અને તેમણે પરસ્પર બંધુત્વની ભાવનાથી વર્તવું જોઇએ.',
  Odia: 'ସବୁ ମନୁଷ୍ୟ ଜନ୍ମକାଳରୁ ସ୍ୱାଧୀନ. ସେମାନଙ୍କର ମର୍ଯ୍ୟାଦା ଓ ଅଧିକାର ସମାନ. ସେମାନଙ୍କଠାରେ ପ୍ରଜ୍ଞା ଓ ବିବେକ ନିହିତ ଅଛି.',
  Tamil:
    'மனிதப் பிறிவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்; அவர்கள் மதிப்பிலும் உரிமைகளிலும் சமமானவர்கள், அவர்கள் நியாயத்தையும் மனசாட்சியையும் இயற்பண்பாகப் பெற்றவர்கள்.',
  Telugu:
    'ప్రతిపత్తిస్వత్వముల విషయమున మానవులెల్లరును జన్మతః స్వతంత్రులును సమానులును నగుదురు. వారు వివేదన-అంతఃకరణ సంపన్నులగుటచే పరస్పరము భ్రాతృభావముతో వర్తింపవలయును.',
  Kannada:
    'ಎಲ್ಲಾ ಮಾನವರೂ ಸ್ವತಂತ್ರರಾಗಿಯೇ ಜನಿಸಿದ್ದಾರೆ. ಹಾಗೂ ಘನತೆ ಮತ್ತು ಹಕ್ಕುಗಳಲ್ಲಿ ಸಮಾನರಾಗಿದ್ದಾರೆ. ವಿವೇಕ ಮತ್ತು ಅಂತಃಕರಣಗಳನ್ನು ಪಡೆದವರಾದ್ದರಿಂದ ಅವರು ಪರಸ್ಪರ ಸಹೋದರ ಭಾವದಿಂದ ವರ್ತಿಸಬೇಕು.',
  Malayalam:
    'മനുഷ്യരെല്ലാവരും തുല്യാവകാശങ്ങളോടും അന്തസ്സോടും സ്വാതന്ത്ര്യത്തോടുംകൂടി ജനിച്ചിട്ടുള്ളവരാണ്. അന്യോന്യം ഭ്രാതൃഭാവത്തോടെ പെരുമാറുവാനാണ് മനുഷ്യന് വിവേകബുദ്ധിയും മനസ്സാക്ഷിയും സിദ്ധമായിരിക്കുന്നത്.',
  Sinhala:
    'සියලු මනුෂ්‍යයෝ නිදහස්ව උපත ලබා ඇත. ගරුත්වයෙන් හා අයිතිවාසිකම්වලින් සමාන වෙති. යුක්ති අයුක්ති පිළිබඳ හැඟීමෙන් හා හෘදය සාක්ෂියෙන් යුත් ඔවුනොවුන්වුනට සැළකිය යුත්තේ සහෝදරත්වය පිළිබඳ හැඟීමෙනි.',
  Thai: 'มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม และควรปฏิบัติต่อกันด้วยเจตนารมณ์แห่งภราดรภาพ กรุณาตรวจสอบใบแจ้งหนี้และโอนเงินภายในสิบสี่วัน',
  Lao: 'ມະນຸດເກີດມາມີສິດເສລີພາບ ແລະ ສະເໝີໜ້າກັນໃນທາງກຽດຕິສັກ ແລະ ທາງສິດດ້ວຍມະໂນທັມ ສະນັ້ນຈຶ່ງຕ້ອງປະພຶດຕົນຕໍ່ກັນໃນທາງພີ່ນ້ອງ',
  Tibetan: 'འགྲོ་བ་མིའི་རིགས་རྒྱུད་ཡོངས་ལ་སྐྱེས་ཙམ་ཉིད་ནས་ཆེ་མཐོངས་དང༌། ཐོབ་ཐངགི་རང་དབང་འདྲ་མཉམ་དུ་ཡོད་ལ།',
  Burmese:
    'လူတိုင်းသည် တူညီ လွတ်လပ်သော ဂုဏ်သိက္ခာဖြင့် လည်းကောင်း၊ တူညီလွတ်လပ်သော အခွင့်အရေးများဖြင့် လည်းကောင်း၊ မွေးဖွားလာသူများ ဖြစ်သည်။ ထိုသူတို့၌ ပိုင်းခြား ဝေဖန်တတ်သော ဉာဏ်နှင့် ကျင့်ဝတ် သိတတ်သော စိတ်တို့ရှိ၍',
  Georgian:
    'ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით. მათ მინიჭებული აქვთ გონება და სინდისი და ერთმანეთის მიმართ უნდა იქცეოდნენ ძმობის სულისკვეთებით.',
  Amharic:
    'የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው። የተፈጥሮ ማስተዋልና ሕሊና ስላለው አንዱ ሌላውን በወንድማማችነት መንፈስ መመልከት ይገባዋል።',
  Khmer:
    'មនុស្សទាំងអស់ កើតមកមានសេរីភាព និងសមភាព ក្នុងផ្នែកសេចក្ដីថ្លៃថ្នូរនិងសិទ្ធិ ។ មនុស្ស មានវិចារណញ្ញាណនិងសតិសម្បជញ្ញៈជាប់ពីកំណើត ហើយគប្បីប្រព្រឹត្ដចំពោះគ្នាទៅវិញទៅមក',
  Dhivehi: 'ހުރިހާ އިންސާނުން ވެސް އުފަންވަނީ މިނިވަންކަންމަތީ ކަރާމާތުގައި އަދި ޙައްޤުތަކުގައި',
  JSON: JSON.stringify(records),
  'JSON with indents': JSON.stringify(records, null, 2),
  TypeScript: file('src/model/stream.ts') + file('src/store/rules.ts'),
  'a lock file': file('package-lock.json').slice(0, 30_000),
  Base64: Buffer.from(file('package.json')).toString('base64'),
  numbers: Array.from({ length: 200 }, (_, n) => n * n * 7919).join(', '),
}

describe('the estimate', () => {
  it.each(Object.entries(TEXTS))('of %s is at most 5 % too low and 35 % too high', (_, text) => {
    const real = realCount(text)
    expect(real).toBeGreaterThan(50)
    expect(estimateText(text) / real).toBeGreaterThan(0.95)
    expect(estimateText(text) / real).toBeLessThan(1.35)
  })

  it('is nothing for nothing, and never less for more', () => {
    expect(estimateText('')).toBe(0)
    const { TypeScript: text = '' } = TEXTS
    for (let length = 1; length < 2000; length += 7)
      expect(estimateText(text.slice(0, length + 50))).toBeGreaterThanOrEqual(
        estimateText(text.slice(0, length)),
      )
  })
})

describe('what is counted', () => {
  const messages: readonly Message[] = [
    { role: 'user', content: 'Hello there' },
    { role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: 'x'.repeat(100_000) }] },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'I look.' },
        { type: 'tool-call', callId: 'c1', tool: 'look', args: { at: 'it' } },
      ],
    },
    {
      role: 'tool',
      content: [{ type: 'tool-result', callId: 'c1', tool: 'look', status: 'ok', output: 'a text' }],
    },
  ]
  const letters = counterOf((text) => text.length, true)

  it('of a message is its texts, calls and results, and a frame for each', () => {
    expect(messages.map((message) => letters.message(message))).toEqual([
      4 + 11,
      4 + 1000,
      4 + 7 + 4 + 4 + 11,
      4 + 4 + 6,
    ])
    expect(letters.messages(messages)).toBe(15 + 1004 + 30 + 14)
  })

  it('of a message is counted once', () => {
    let asked = 0
    const counter = counterOf(() => (asked += 1), false)
    for (let n = 0; n < 5; n++) counter.messages(messages)
    expect(asked).toBe(5)
  })

  it.each([undefined, null, 5, { role: 'user', content: 'x' }, [null], [{ role: 'user', content: null }]])(
    'of %j is refused: it is neither a text nor messages',
    async (content) => {
      await expect(countTokens(content as never)).rejects.toMatchObject({
        code: 'invalid-option',
        message: 'countTokens() takes a text, or a list of messages as getMessages() returns them.',
      })
    },
  )

  it('is exact where a tokenizer is installed', async () => {
    expect(await countTokens('Hello, world!')).toEqual({ tokens: realCount('Hello, world!'), exact: true })
    expect(await countTokens([{ role: 'user', content: 'Hello, world!' }])).toEqual({
      tokens: 8,
      exact: true,
    })
    expect(await tokenCounter()).toBe(await tokenCounter())
  })

  it('is estimated where none is', async () => {
    const counter = await findCounter(() => Promise.reject(new Error('ERR_MODULE_NOT_FOUND')))
    expect(counter).toBe(estimatedTokens)
    expect([counter.exact, counter.text('Hello, world!')]).toEqual([false, estimateText('Hello, world!')])
  })

  it('takes the marks of a tokenizer for texts', async () => {
    const { text } = await tokenCounter()
    expect(text('a <|endoftext|> b')).toBe(9)
  })

  it('counts what has no gap in pieces, which takes longer the longer it is and not worse', async () => {
    const seen: number[] = []
    const tokenizer: Tokenizer = { countTokens: (text) => seen.push(text.length) && text.length }
    const { text } = await findCounter(async () => tokenizer)
    expect(text('a'.repeat(2500))).toBe(2500)
    expect(text('word '.repeat(1000))).toBe(5000)
    expect(seen).toEqual([1000, 1000, 500, 5000])
  })

  it.each([' ', '\n', '\t', '.', '-=', '💥'])('counts a long run of %j in pieces', async (part) => {
    const seen: number[] = []
    const tokenizer: Tokenizer = { countTokens: (text) => seen.push(text.length) && text.length }
    const { text } = await findCounter(async () => tokenizer)
    text(`before ${part.repeat(3000)} after`)
    expect(Math.max(...seen)).toBe(1000)
  })
})

describe('the size of a context', () => {
  it.each([
    ['openai/gpt-4.1-mini-2025-04-14', 1_047_576],
    ['openai/gpt-4o-mini', 128_000],
    ['openai/gpt-5-mini', 272_000],
    ['openai/o3', 200_000],
    ['anthropic/claude-sonnet-4-5', 200_000],
    ['google/gemini-2.5-flash', 1_048_576],
  ])('of %s is %i', (name, size) => {
    expect(contextSizeOf(name)).toBe(size)
  })

  it('is not made up', () => {
    expect(['acme/m1', '', 'ollama/o3-distilled'].map(contextSizeOf)).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect(CONTEXT_SIZES_AS_OF).toMatch(/^\d{4}-\d\d$/)
    for (const size of Object.values(CONTEXT_SIZES)) expect(size).toBeGreaterThanOrEqual(128_000)
  })
})
