@rem npm's scripts begin with exec, so that the shell makes way for Node and signals to npm reach it. Windows has neither: here it runs what follows.
@%*
