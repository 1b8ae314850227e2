// The viewer has two themes; it is told which one the reader's system has.
const dark = matchMedia('(prefers-color-scheme: dark)');
const viewer = document.querySelector('rapi-doc');
const follow = () => viewer.setAttribute('theme', dark.matches ? 'dark' : 'light');
dark.addEventListener('change', follow);
follow();
