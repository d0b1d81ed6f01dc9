// What the desk says when there is no request, and when one is lost.

export const WAITING = {
  empty: 'The next one comes here by itself.',
  reserved: 'Others are at work on all that is left. The next one comes here by itself.',
  skipped: 'What is left are requests that you have skipped; they go to others.',
  ineligible: 'What is left is for other people. The next one for you comes here by itself.',
  delayed: 'What is left comes a little later, and then here by itself.',
  blocked: 'What is left has to wait for what others are at work on.',
  paused: 'An operator has paused the queue. It goes on here by itself.',
}
export const EXPIRED = 'Lost: this request has expired. The agent gets “expired”, never a yes.'
export const LOST = {
  released: 'Lost: an operator took this request back.',
  cancelled: 'Lost: this request was withdrawn. It needs no answer any more.',
  completed: 'Lost: this request was answered elsewhere.',
  'handed-over': 'Lost: you handed this request over elsewhere.',
}
export const LATE = 'Lost: your time for it is over. Answer it late, or take it again, if nobody else has.'
export const UNSURE = 'Its time is over, and there is no connection. Your answer counts only if the request is still open.'
export const SIGN_IN = {
  401: 'Requests are for people who are signed in here. Paste the token that you were given, or ask for another one.',
  403: 'This token is another person’s, or for other requests. Type the name that it was made for, or ask for another one.',
}
