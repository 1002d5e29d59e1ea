/**
 * How people ask. `everyday` is what the rules were written with. Each of the others was written to say things
 * differently, after the rules had been fitted to the ones before it; unseen they gave, of 200 sets of tools:
 *
 *              right     asked     wrong
 *   other     88.6 %     6.5 %     4.9 %
 *   third     87.9 %     6.5 %     5.5 %
 *   fourth    95.5 %     4.2 %     0.3 %
 *   fifth     91.9 %     5.1 %     3.0 %
 *
 * What they give now that the rules know them is said by `npm run reflex`. `{…}` are places for words.
 */

export interface Phrases {
  /** Around a request: `{r}` as it is, `{R}` with a capital. */
  readonly around: readonly string[]
  readonly list: readonly string[]
  /** With the verb of the tool, which may be no word at all. */
  readonly listByVerb: readonly string[]
  readonly limited: readonly string[]
  readonly create: readonly string[]
  readonly createFull: readonly string[]
  readonly act: readonly string[]
  readonly actById: readonly string[]
  readonly tune: readonly string[]
  readonly search: readonly string[]
  readonly get: readonly string[]
  readonly second: readonly string[]
  readonly it: readonly string[]
  readonly twins: readonly string[]
  /** Parts of a thing: list them, make one with a title, give one to another thing. */
  readonly parts: readonly string[]
  readonly makePart: readonly string[]
  readonly movePart: readonly string[]
  readonly nonsense: readonly string[]
}

export const everyday: Phrases = {
  around: [
    '{r}',
    'Please {r}.',
    'Could you {r}?',
    'hey, {r} please',
    'I would like you to {r}',
    'ok so {r}',
    '{R}. Thanks!',
    'can you {r} for me, please?',
  ],
  list: [
    'show me all {nouns}',
    'list the {nouns}',
    'which {nouns} are there?',
    'give me an overview of all {nouns}',
    'I want to see every {noun}',
    'what {nouns} do we have',
  ],
  listByVerb: ['{verb} the {nouns}', '{verb} all {nouns}'],
  limited: [
    'list {n} {nouns}',
    'show at most {n} {nouns}',
    'list the {nouns} with limit {n}',
    'show me {nouns}, limit={n}',
  ],
  create: ['{verb} a {noun}', '{verb} a new {noun}'],
  createFull: [
    '{verb} a {noun} named {Name} with {amount} {n}',
    '{verb} a new {noun} called "{Name}", {amount} {n}',
    '{verb} a {noun}: name={Name} {amount}={n}',
    '{verb} a {choice} {noun} named {Name} with a {amount} of {n}',
    '{verb} a {noun} called {Name} with {amount} {n}, start {date} and contact {email}',
    '{verb} a {noun} named "{Name}" with {amount} {n} and tags {tag1}, {tag2} and {tag3}',
    '{verb} a {flag} {noun} named {Name} with {amount} {n}',
  ],
  act: [
    '{verb} the {noun} {label}',
    '{verb} {label}',
    '{verb} the {label} {noun}',
    'the {noun} {label} should be {verb}ed',
    '{verb} the {noun} "{label}"',
  ],
  actById: [
    '{verb} the {noun} {id}',
    '{verb} {noun} with id {id}',
    '{noun} {id} needs {verb}ing',
    '{verb} the {noun} with the id {id}',
  ],
  tune: [
    '{verb} the {noun} {label} to {amount} {n}',
    '{verb} {noun} {label} with {amount} {n}',
    '{verb} the {amount} of {noun} {label} to {n}',
  ],
  search: [
    '{verb} {nouns} about {words}',
    '{verb} {nouns} with "{words}"',
    '{verb} for {words} in the {nouns}',
  ],
  get: ['show me the {noun} {label}', '{verb} the {noun} {label}', '{verb} the details of {noun} {label}'],
  second: ['{verb} the second one', 'now {verb} the second {noun}', '{verb} the 2nd'],
  it: ['{verb} it', 'now {verb} it', '{verb} that one please'],
  twins: ['{verb} the {noun}', '{verb} a {noun}'],
  parts: [
    'list the {nouns} of {owner} {label}',
    'show me the {nouns} of the {owner} {label}',
    'which {nouns} does {label} have?',
  ],
  makePart: [
    '{verb} a {noun} titled "{Name}" in {label}',
    '{verb} a {noun} "{Name}" to the {owner} {label}',
    'in the {owner} {label}, {verb} a {noun} with the title "{Name}"',
  ],
  movePart: ['{verb} the {noun} {part} to the {owner} {label}', '{verb} {part} over to {label}'],
  nonsense: [
    '{x} {y} {z}',
    'what is the meaning of {x}?',
    'tell me a joke',
    'why is the sky blue?',
    'lorem ipsum dolor sit amet',
    '{x}!',
    'asdf jkl',
  ],
}

export const other: Phrases = {
  around: [
    '{r}',
    'Good morning! {R}. Much appreciated.',
    'We have a meeting in ten minutes. {R}.',
    'I was wondering whether you might {r}',
    'quick one - {r}',
    '{R}, would you?',
    'My boss is waiting for this, so {r} as soon as possible.',
    'sorry to bother you again, but {r}!!',
    'Would it be possible to {r}? That would be lovely.',
    '{r} (thanks in advance)',
  ],
  list: [
    'have a look at the {nouns}, all of them',
    'display {nouns}',
    '{nouns}: show them',
    'the full list of {nouns}',
    'which {nouns} exist',
    'tell me what {nouns} there are',
    'see all the {nouns}',
  ],
  listByVerb: ['{verb} {nouns}', 'the {nouns}, {verb} them', 'have the {nouns} {verb}ed'],
  limited: [
    'show {n} {nouns} at most',
    '{nouns}, the first page, limit: {n}',
    'display the {nouns} but limit it to {n}',
    'see no more than {n} of the {nouns}',
  ],
  create: ['{verb} another {noun}', '{verb} me a {noun}', 'have a {noun} {verb}ed'],
  createFull: [
    '{verb} one more {noun}; its name is "{Name}" and its {amount} should be {n}',
    '{verb} a {noun}, {amount} {n}, name {Name}',
    'for a {noun} with the name "{Name}": {verb} it with {n} {amount}',
    '{verb} the following {noun}:\nname: {Name}\n{amount}: {n}\nstart: {date}\ncontact: {email}',
    '{verb} a {noun} titled "{Name}". The {amount} is {n}, the {trait} is {choice}',
    '{verb} a {noun} with {amount} of {n} called "{Name}" and make it {choice}',
    '{verb} a {noun} named "{Name}" having {amount} {n}, tags: {tag1}, {tag2}, {tag3}',
    'a {noun} called "{Name}" has to be {verb}ed, {amount} {n}, {flag}',
  ],
  act: [
    '{verb} {label}, which is a {noun}',
    'go ahead and {verb} the one called {label} among the {noun}s',
    'take the {noun} named {label} and {verb} it',
    '{label} - that {noun} can be {verb}ed',
    'have {noun} {label} {verb}ed',
    '{verb} my {noun} {label}',
  ],
  actById: [
    '{verb} {id} ({noun})',
    '{verb} the {noun} whose id is {id}',
    '{noun} id {id}: {verb}',
    'have {noun} #{id} {verb}ed',
  ],
  tune: [
    'for the {noun} {label}, {verb} with {n} {amount}',
    '{verb} {label} ({noun}), {amount}: {n}',
    '{verb} {noun} {label} so that its {amount} is {n}',
    '{verb} {n} {amount} on the {noun} {label}',
  ],
  search: [
    '{verb} any {nouns} mentioning {words}',
    '{verb} "{words}" among {nouns}',
    '{verb} {nouns} matching {words}',
  ],
  get: [
    'see the {noun} {label}',
    'tell me everything about {noun} {label}',
    '{verb} {noun} {label} with all its details',
    'what do we know about the {noun} {label}?',
  ],
  second: [
    '{verb} number two... the second, I mean',
    'the second of these: {verb} it',
    '{verb} the second {noun} on that list',
  ],
  it: ['well, {verb} it then', 'please have it {verb}ed', 'good. {verb} that {noun}'],
  twins: ['{verb} my {noun}', 'the {noun} has to be {verb}ed'],
  parts: [
    'see {label} and all its {nouns}',
    "the {owner} {label}'s {nouns}, display them",
    'tell me what {nouns} are in {label}',
  ],
  makePart: [
    '{verb} "{Name}" as a new {noun} of {label}',
    '{verb} an urgent {noun} for {owner} {label}: "{Name}"',
    '{label} needs a {noun}, please {verb} one with title "{Name}"',
  ],
  movePart: [
    'have the {noun} {part} {verb}ed to {owner} {label}',
    'the {noun} called {part} should be {verb}ed over to {label}',
  ],
  nonsense: [
    'my {x} has a {y} in its {z}',
    'do you believe in {x}?',
    'how tall is the Eiffel tower',
    '{x} {x} {x} {y}',
    'I am bored',
    '12345',
    '🦄🦄🦄',
    'translate "{x}" into French',
  ],
}

export const third: Phrases = {
  around: [
    '{r}',
    'Hi there, {r}',
    'As discussed yesterday: {r}',
    'Could somebody {r}? Cheers',
    'Right, next thing. {R}',
    '{R}... if that is not too much trouble',
    'I need your help: {r}',
    'hmm, let me think. {R}. Yes, that.',
    '{r} NOW',
    'For the report due on Friday at 5 pm, {r}',
  ],
  list: [
    'get me the {nouns}',
    'I need a list with every {noun}',
    'what {nouns} have we got?',
    'how many {nouns} are there',
    'run me through the {nouns}',
    'give me all {nouns} you know',
    'let me see those {nouns}',
  ],
  listByVerb: ['{verb} those {nouns}', 'could the {nouns} be {verb}ed', '{verb} every {noun}'],
  limited: [
    'give me a list of {n} {nouns}',
    'show the first {n} {nouns}',
    'list {nouns} ({n} of them)',
    'get all {nouns}, with a limit of {n}',
  ],
  create: ['{verb} some {noun}', 'I want a {noun}, {verb} one', '{verb} the next {noun}'],
  createFull: [
    '{verb} {noun} "{Name}" with {n} as its {amount}',
    '{verb} a {noun} for me: {amount} = {n}, name = "{Name}"',
    'with {amount} {n}, {verb} a {noun} known as "{Name}", {trait} {choice}',
    '{verb} a {noun}. Name: {Name}. {amount}: {n}. Tags: {tag1}, {tag2} and {tag3}.',
    '{verb} a {noun} "{Name}" whose {amount} equals {n} and which is not {flag0}',
    '{verb} a {choice} {noun} "{Name}" of {amount} {n} from {date}, {email} is the contact',
  ],
  act: [
    '{verb} that {noun}, {label}',
    'what about {label}? I think this {noun} should get {verb}ed',
    'the {noun} to {verb} is {label}',
    '{label} ({noun}) -> {verb}',
    'we have to {verb} {label} today, the {noun}',
  ],
  actById: ['{verb} {noun}={id}', 'id {id} of the {nouns} must be {verb}ed', 'the {noun} {id}, {verb} it'],
  tune: [
    'the {noun} {label} gets {n} {amount}: {verb} it',
    '{verb} the {noun} {label} at {amount} {n}',
    'with {amount}={n} {verb} {label}, the {noun}',
  ],
  search: [
    '{verb} those {nouns} that have to do with "{words}"',
    'please {verb} {words} in {nouns}',
    '{verb} {nouns}: {words}',
  ],
  get: [
    'get me the {noun} {label}',
    'what is in the {noun} {label}?',
    'info on {noun} {label}',
    'let me see {label}, the {noun}',
  ],
  second: [
    'the second {noun} needs to be {verb}ed',
    '{verb} only the second',
    'for the second one, {verb} it',
  ],
  it: ['I changed my mind, {verb} it after all', '{verb} this {noun}', 'can it be {verb}ed?'],
  twins: ['{verb} this {noun}', 'could you have the {noun} {verb}ed'],
  parts: [
    'what {nouns} belong to {owner} {label}',
    'list {nouns} in {label}',
    'I would like to see the {nouns} that {label} has',
  ],
  makePart: [
    '{verb} one {noun} with title {Name} under {label}',
    '{verb} the {noun} "{Name}" - it belongs to {owner} {label}',
    '"{Name}" is a {noun} to {verb} in {label}',
  ],
  movePart: ['{part} is a {noun} that we {verb} to {label}', '{verb} {noun} {part}, its {owner} is {label}'],
  nonsense: [
    'is {x} better than {y}?',
    'sing!',
    '???',
    'once upon a time there was a {x}',
    'if {x} then {y} else {z}',
    '{"{x}": "{y}"}',
    'SELECT * FROM {x}',
    '你好吗',
  ],
}

export const fourth: Phrases = {
  around: [
    '{r}',
    'Dear assistant, {r}. Kind regards, Eve',
    'so... {r}?',
    'OK listen: {r}',
    'It would help me a lot if you could {r}',
    '{R} - no rush, 3 days is fine',
    'Before I forget it, {r}',
    'Just {r}, nothing else',
    '{r}, pretty please',
    'I have asked twice already! {R}!',
  ],
  list: [
    'enumerate the {nouns}',
    'I would love to see our {nouns}',
    '{nouns} please',
    'what are the {nouns}',
    'give me the {nouns}',
    'pull up all of the {nouns}',
    'are there any {nouns}?',
  ],
  listByVerb: ['{verb} our {nouns}', '{verb} the {nouns} again', 'I would love to have the {nouns} {verb}ed'],
  limited: [
    'see {n} of our {nouns}',
    'list at most {n} {nouns}',
    'display {nouns}, limit is {n}',
    'give me {n} {nouns}',
  ],
  create: ['{verb} a brand new {noun}', 'please {verb} {noun}', 'start to {verb} a {noun}'],
  createFull: [
    '{verb} a {noun} with name "{Name}" and {amount} {n}',
    '{verb} "{Name}", a {noun} with {amount} {n}',
    '{verb} a {noun} called {Name}. {amount}: {n}. {trait}: {choice}.',
    'name "{Name}", {amount} {n}, contact {email}, start {date}: {verb} that {noun}',
    '{verb} a {flag} {noun}, {n} {amount}, and call it "{Name}"',
    '{verb} the {noun} "{Name}" ({amount} {n}; tags {tag1}, {tag2}, {tag3})',
  ],
  act: [
    'I want {label} to be {verb}ed (it is a {noun})',
    '{verb} our {noun} {label} at once',
    'could {label}, our {noun}, be {verb}ed',
    '{noun} {label} -- {verb} it',
    'there is a {noun} called {label}, {verb} it',
  ],
  actById: [
    '{verb} the one with id {id}, a {noun}',
    '{noun} number {id} is to be {verb}ed',
    '{verb} {noun}: {id}',
  ],
  tune: [
    '{verb} {noun} {label}: {amount} = {n}',
    'I want {noun} {label} {verb}ed to a {amount} of {n}',
    '{label} is a {noun} whose {amount} should be {n}, so {verb} it',
  ],
  search: [
    '{verb} all {nouns} for "{words}"',
    'I need to {verb} {nouns} about {words}',
    '{verb} {words} within our {nouns}',
  ],
  get: [
    'display {noun} {label}',
    'can I see {label}? It is a {noun}',
    '{verb} me {noun} {label}',
    'show {label} (a {noun})',
  ],
  second: ['and {verb} the second', '{verb} the second one of them', 'the second should be {verb}ed'],
  it: ['{verb} it as well', 'now I want it {verb}ed', 'ok {verb} this one'],
  twins: ['{verb} our {noun} please', 'I want the {noun} to be {verb}ed'],
  parts: [
    'show {nouns} for {owner} {label}',
    'what {nouns} does the {owner} {label} have',
    'display the {nouns} inside {label}',
  ],
  makePart: [
    '{verb} "{Name}" to {owner} {label} as a {noun}',
    'I want a {noun} "{Name}" {verb}ed to {label}',
    '{verb} {noun} "{Name}" under {owner} {label}',
  ],
  movePart: ['{verb} {part} ({noun}) to {owner} {label}', 'I want {noun} {part} {verb}ed to {label}'],
  nonsense: [
    'what time is it',
    '{x} of {y}',
    'never gonna give you up',
    'a b c d e f g',
    'is anybody there?',
    'I love you',
    '{x}: {y}, {z}',
    'null',
  ],
}

export const fifth: Phrases = {
  around: [
    '{r}',
    'My colleague told me that you can {r}. Is that so? Then do it.',
    'task of the day: {r}',
    '{r} // sent from my phone',
    'Let us {r}',
    'first of all, {r}',
    'hey there, how is it going? {R}.',
    '* {r}',
    'i think you should {r} for the team',
    '{R}; that is all.',
  ],
  list: [
    'view {nouns}',
    'how about a list of {nouns}',
    'show every single {noun}',
    'I am looking for the {nouns}, all',
    'check which {nouns} we own',
    'retrieve {nouns}',
  ],
  listByVerb: ['{verb} me the {nouns}', 'it is time to {verb} the {nouns}', '{nouns} {verb}'],
  limited: [
    'retrieve {n} {nouns}',
    'view {nouns} with a limit of {n}',
    'show no more than {n} {nouns}',
    '{nouns}: list {n}',
  ],
  create: ['{verb} a nice {noun}', '{noun}: {verb} one', 'we should {verb} a {noun} today'],
  createFull: [
    '{verb} {noun}: "{Name}", {amount} {n}',
    '{verb} a {noun} that is called "{Name}" and has a {amount} of {n}',
    'a new {noun}, name {Name}, {amount} {n}: {verb} it',
    '{verb} a {noun} (name: "{Name}", {amount}: {n}, {trait}: {choice})',
    '{verb} a {noun} named {Name}, {amount} = {n}, starting {date}, contact is {email}',
    'make sure to {verb} a {flag} {noun} with the name "{Name}" and {n} {amount}',
  ],
  act: [
    '{verb} {noun} "{label}" for good',
    'somebody has to {verb} {label} ({noun})',
    'can you see to it that the {noun} {label} is {verb}ed',
    'the {label} {noun} wants {verb}ing',
    '{verb} the following {noun}: {label}',
  ],
  actById: [
    '{verb} {noun} no {id}',
    'please see that {noun} {id} is {verb}ed',
    'the id is {id}, {verb} this {noun}',
  ],
  tune: [
    '{verb} {noun} {label} ({amount} {n})',
    '{amount} {n} for the {noun} {label}, {verb} it',
    'the {amount} of {noun} {label} must be {verb}ed to {n}',
  ],
  search: [
    '{verb} {nouns} like {words}',
    '{verb} {nouns} where it says "{words}"',
    'go and {verb} {words} among the {nouns}',
  ],
  get: [
    'retrieve {noun} {label}',
    'view the {noun} {label}',
    'I would like to look at {noun} {label}',
    'describe {label} (a {noun})',
  ],
  second: ['{verb} the 2nd one', 'second one: {verb}', 'do {verb} the second {noun}'],
  it: ['{verb} it right away', 'so {verb} that', 'it needs to be {verb}ed'],
  twins: ['somebody should {verb} the {noun}', '{noun}: {verb}'],
  parts: [
    'view the {nouns} of {label}',
    'retrieve all {nouns} from {owner} {label}',
    '{owner} {label}: show its {nouns}',
  ],
  makePart: [
    '{verb} a {noun} named "{Name}" for {label}',
    '{verb} "{Name}" ({noun}) in {owner} {label}',
    'for {label}, {verb} a {noun} "{Name}"',
  ],
  movePart: ['{verb} {noun} "{part}" to {owner} "{label}"', 'please see that {part} is {verb}ed to {label}'],
  nonsense: [
    'lol',
    'what do you think about {x}',
    'open the pod bay doors',
    'this is not a {y}',
    '{x}ing {y}ed {z}s',
    'I am looking for love',
    '...',
  ],
}
