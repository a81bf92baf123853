// Jest's setup file of the tests on real engines: the end-to-end suite learns by it which engines it is to run on.

process.env['HERALD_TEST_ENGINES'] = 'real';
