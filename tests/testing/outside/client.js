// A client of Node: node client.js URL. Prints the status and the answer, or the code of the error.
fetch(process.argv[2])
  .then(async (answer) => console.log(answer.status, await answer.text()))
  .catch((error) => {
    console.error(error.cause?.code ?? error);
    process.exitCode = 1;
  });
