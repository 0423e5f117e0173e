// One kernel is selected at a time; every view shows it in its own way.

let selected = null;
const followers = [];

function onSelect(follow) {
  followers.push(follow);
}

function select(kernel, from = "") {
  selected = kernel;
  for (const follow of followers) follow(kernel, from);
}
