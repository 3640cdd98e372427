'use strict';
// What comes of a run while it goes on. The server writes it; here it is only put in its place.
(function () {
  const main = document.querySelector('main');
  const now = document.getElementById('now');
  const said = document.getElementById('said');
  const name = main.dataset.record;
  const events = new EventSource('/live/' + name + '/events');

  events.addEventListener('state', function (event) {
    said.textContent = '';
    now.innerHTML = event.data;
  });
  events.addEventListener('finished', function () {
    events.close();
    location.replace('/record/' + name);
  });
  events.addEventListener('unreadable', function (event) {
    events.close();
    said.textContent = 'The record cannot be read any more: ' + event.data;
  });
  events.addEventListener('error', function () {
    if (events.readyState !== EventSource.CLOSED) {
      said.textContent = 'The server does not answer. Is acklab serve still running?';
    }
  });
}());
