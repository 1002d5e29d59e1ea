/** Answers in the shapes that the vendors document, with the fields that this package does not read. */

export const SEARXNG: object = {
  query: 'kelp holdfast',
  number_of_results: 0,
  results: [
    {
      url: 'http://kelp.example/holdfast',
      title: 'Kelp holdfasts',
      content: 'The root-like organ of kelp.',
      thumbnail: null,
      engine: 'duckduckgo',
      template: 'default.html',
      parsed_url: ['http', 'kelp.example', '/holdfast', '', '', ''],
      img_src: '',
      priority: '',
      engines: ['duckduckgo', 'brave'],
      positions: [1, 3],
      score: 2.6666666666666665,
      category: 'general',
      publishedDate: null,
    },
    {
      url: 'http://tide.example/gauge',
      title: 'Tide gauges',
      content: 'Measures the level of the sea.',
      engine: 'brave',
      parsed_url: ['http', 'tide.example', '/gauge', '', '', ''],
      template: 'default.html',
      engines: ['brave'],
      positions: [2],
      score: 0.5,
      category: 'general',
    },
  ],
  answers: [],
  corrections: [],
  infoboxes: [],
  suggestions: ['kelp forest'],
  unresponsive_engines: [['startpage', 'Suspended: CAPTCHA']],
}

export const BRAVE: object = {
  type: 'search',
  query: {
    original: 'kelp holdfast',
    show_strict_warning: false,
    is_navigational: false,
    spellcheck_off: false,
    country: 'us',
    bad_results: false,
    more_results_available: true,
  },
  mixed: { type: 'mixed', main: [{ type: 'web', index: 0, all: false }], top: [], side: [] },
  web: {
    type: 'search',
    family_friendly: true,
    results: [
      {
        title: 'Kelp holdfasts &amp; more',
        url: 'http://kelp.example/holdfast',
        is_source_local: false,
        is_source_both: false,
        description: 'The <strong>root-like</strong> organ of kelp; it&#x27;s no root. 1 &lt; 2.',
        page_age: '2024-11-02T00:00:00',
        profile: { name: 'Kelp', url: 'http://kelp.example/', long_name: 'kelp.example', img: '' },
        language: 'en',
        family_friendly: true,
        type: 'search_result',
        subtype: 'generic',
        is_live: false,
        meta_url: {
          scheme: 'http',
          netloc: 'kelp.example',
          hostname: 'kelp.example',
          favicon: '',
          path: '› holdfast',
        },
        age: 'November 2, 2024',
      },
    ],
  },
}

export const TAVILY: object = {
  query: 'kelp holdfast',
  follow_up_questions: null,
  answer: null,
  images: [],
  results: [
    {
      url: 'http://kelp.example/holdfast',
      title: 'Kelp holdfasts',
      content: 'The root-like organ of kelp.',
      score: 0.81025416,
      raw_content: null,
      favicon: 'http://kelp.example/favicon.ico',
    },
  ],
  response_time: 1.67,
  request_id: '123e4567-e89b-12d3-a456-426614174111',
}

export const braveError = (code: string, status: number): object => ({
  type: 'ErrorResponse',
  error: { id: '5d832250-9396-4f6e-b84a-2a1fe524cd7d', status, code, detail: 'Detail.', meta: {} },
  time: 1773685964,
})

export const tavilyError = (error: string): object => ({ detail: { error } })
